"""Whether prompts fit a model's context, told from its tokenizer and configuration before anything is loaded."""

from collections.abc import Iterable, Iterator
from itertools import islice

from budgetplan.probing.models import ResolvedModel, context_length, load_config, load_tokenizer
from budgetplan.probing.rendering import render_batch
from budgetplan.records import ItemId, SampleRequest

BATCH = 1_000


def longer_than_context(
    model: ResolvedModel, requests: Iterable[SampleRequest], *, thinking: bool, trust_remote_code: bool
) -> Iterator[tuple[ItemId, int, int]]:
    """Yield (item, its prompt's tokens, the model's context) for prompts that leave no room for an answer."""
    tokenizer = load_tokenizer(model, trust_remote_code=trust_remote_code)
    context = context_length(load_config(model, trust_remote_code=trust_remote_code))
    requests = iter(requests)
    while batch := list(islice(requests, BATCH)):
        prompts = render_batch(tokenizer, [request.messages for request in batch], thinking=thinking)
        for request, tokens in zip(batch, prompts, strict=True):
            if len(tokens) >= context:
                yield request.item_id, len(tokens), context
