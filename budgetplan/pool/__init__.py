"""Items in: files of prompts, and of completions sampled elsewhere, as Arrow tables. Identity is content.

A pool's `columns` keep the user's other fields as JSON; under DUPLICATES_KEY stand those of later rows of the same
prompt, where they differ from the first row's.
"""

from budgetplan.pool.exclusion import Exclusion, excluded, parse_exclusion
from budgetplan.pool.fields import Fields
from budgetplan.pool.merging import Conflict, Conflicts
from budgetplan.pool.reader import Pool, read_pool
from budgetplan.pool.samples import Samples, read_samples
from budgetplan.pool.templates import TEMPLATES, Template, apply_template, messages_of, resolve_template

__all__ = [
    "TEMPLATES",
    "Conflict",
    "Conflicts",
    "Exclusion",
    "Fields",
    "Pool",
    "Samples",
    "Template",
    "apply_template",
    "excluded",
    "messages_of",
    "parse_exclusion",
    "read_pool",
    "read_samples",
    "resolve_template",
]
