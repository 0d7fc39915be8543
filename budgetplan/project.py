"""The handle of the Python API: one store and one set of settings; every verb of the command line is a method."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from budgetplan.config import Resolved, Settings, resolve
from budgetplan.records import Progress, Silent
from budgetplan.store.connection import Store

if TYPE_CHECKING:
    from budgetplan.steps.another_look import LookedAgain
    from budgetplan.steps.export import Exported
    from budgetplan.steps.import_samples import ImportReport
    from budgetplan.steps.ingest import IngestReport
    from budgetplan.steps.people import Forgotten
    from budgetplan.steps.probe import ProbeReport
    from budgetplan.steps.rank import Ranking
    from budgetplan.steps.shortlist import Shortlisted
    from budgetplan.steps.status import Status
    from budgetplan.steps.validated import ValidationPlan, ValidationReport
    from budgetplan.steps.validation_choices import ValidateChoices
    from budgetplan.steps.verify import VerifyReport
    from budgetplan.store.adjudications import Disagreement
    from budgetplan.store.shortlists import Recalled


class Project:
    """A store and its settings.

    Settings are those of `budgetplan config`, given by keyword; what is not given comes from the environment,
    `budgetplan.toml` or the defaults. Nothing is opened until a method needs it.
    """

    def __init__(self, *, progress: Progress | None = None, **settings: Any) -> None:
        self.resolved: Resolved = resolve(settings)
        self.progress: Progress = progress or Silent()

    @property
    def settings(self) -> Settings:
        """The resolved settings."""
        return self.resolved.settings

    @property
    def store(self) -> Store:
        """The store, which need not exist yet."""
        return Store(self.settings.db)

    def probe(
        self,
        pool: str | Path,
        *,
        conflicts: Literal["first", "drop"] | None = None,
        skip_too_long: bool = False,
        confirm: Callable[[str], bool] | None = None,
        role: Literal["base", "reference"] = "base",
        budget: str | None = None,
        adaptive: bool = False,
        uniform: bool = False,
    ) -> "ProbeReport":
        """Import a pool, sample what is missing of K completions per item, verify what has a known answer.

        With a `budget`, or `adaptive` for what is left of one, at most half as many samples are taken, where they are
        worth most for what it buys; `uniform` takes K of every item again. The model's answers are a `reference` where
        the base model's are to be compared with them.
        """
        from budgetplan.steps.probe import probe
        from budgetplan.steps.probe_check import ProbeChoices

        choices = ProbeChoices(conflicts, skip_too_long, confirm, role, budget, adaptive, uniform)
        return probe(self.store, str(pool), self.settings, choices, self.progress)

    def import_samples(
        self,
        files: Sequence[str | Path],
        *,
        conflicts: Literal["first", "drop"] | None = None,
        role: Literal["base", "reference"] = "base",
    ) -> "ImportReport":
        """The same from completions sampled elsewhere; of a `reference`, rows may bring one answer each."""
        from budgetplan.steps.import_samples import import_samples

        names = [str(file) for file in files]
        return import_samples(self.store, names, self.settings, conflicts, self.progress, role)

    def verify(self, *, run: str | None = None) -> "VerifyReport":
        """Judge a run's stored completions with the verifier of the settings, without sampling."""
        from budgetplan.steps.verify import verify

        return verify(self.store, run, self.settings.verifier, self.progress)

    def rank(self, *, run: str | None = None, out: str | Path | None = None, single_pass: bool = False) -> "Ranking":
        """Estimate every item's difficulty and rank the pool by the policy; `out` writes every item's estimate.

        With `single_pass`, the signals of items without an answer come from their first sample alone.
        """
        from budgetplan.steps.rank import RankChoices, rank

        choices = RankChoices(run, Path(out) if out else None, single_pass)
        return rank(self.store, self.settings, choices, self.progress)

    def shortlist(
        self,
        budget: str | None = None,
        *,
        run: str | None = None,
        exclude: Sequence[str] = (),
        quota: Sequence[str] = (),
        must: str | Path | None = None,
        never: str | Path | None = None,
        audit: str | None = None,
        batch: str | None = None,
        single_pass: bool = False,
        tool: str = "spreadsheet",
        show_model_answer: bool = False,
        out: str | Path | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> "Shortlisted":
        """Choose what the budget buys (without one: what is left) and write it for you and for the annotators.

        `batch` is the share of the budget to spend at once; by default a third while no answer of the pool is known.
        `quota` is as in `topic=algebra:20%..40%`; `must` and `never` are files with one id per line.
        """
        from budgetplan.steps.shortlist import ShortlistChoices, shortlist
        from budgetplan.steps.shortlist_files import FileChoices
        from budgetplan.steps.wishes import WishChoices

        files = FileChoices(Path(out) if out else None, tool, force, show_model_answer)
        lists = (Path(file) if file else None for file in (must, never))
        wishes = WishChoices(tuple(exclude), tuple(quota), *lists)
        given = frozenset(name for name, origin in self.resolved.origins.items() if origin != "default")
        choices = ShortlistChoices(budget, files, wishes, audit, batch, single_pass, dry_run, given)
        return shortlist(self.store, self.settings, run, choices, self.progress)

    def look_again(
        self, *, tool: str = "spreadsheet", out: str | Path | None = None, force: bool = False
    ) -> "LookedAgain":
        """Write the items on which annotators differ as a shortlist of their own; its labels decide alone."""
        from budgetplan.steps.another_look import look_again
        from budgetplan.steps.shortlist_files import FileChoices

        files = FileChoices(Path(out) if out else None, tool, force)
        return look_again(self.store, self.settings, files, self.progress)

    def ingest(
        self,
        files: Sequence[str | Path],
        *,
        tool: str | None = None,
        annotator: str | None = None,
        skip_bad: bool = False,
        replace_known: bool = False,
        pseudonyms: bool = False,
    ) -> "IngestReport":
        """Take labels back from any supported tool, decide what they say, and judge every stored sample by them."""
        from budgetplan.steps.ingest import IngestChoices, ingest

        choices = IngestChoices(tool, annotator, skip_bad, replace_known, pseudonyms)
        return ingest(self.store, [Path(file) for file in files], choices, self.progress)

    def recall(self, shortlist_id: str, items: Sequence[str] = ()) -> "Recalled":
        """Take items of a shortlist back from the annotators: those named, or all without a label."""
        from budgetplan.steps.rounds import recall

        return recall(self.store, shortlist_id, list(items))

    def forget(self, annotator: str) -> "Forgotten":
        """Remove all records of one annotator, and decide again without them."""
        from budgetplan.steps.people import forget

        return forget(self.store, annotator, self.progress)

    def export(
        self,
        target: str,
        *,
        run: str | None = None,
        out: str | Path | None = None,
        shortlist: str | None = None,
        without_audit: bool = False,
        with_known: bool = False,
        force: bool = False,
    ) -> "Exported":
        """Write the labelled training set for a framework: trl, verl, open-instruct or datasets."""
        from budgetplan.steps.export import ExportChoices, export

        choices = ExportChoices(target, Path(out) if out else None, shortlist, without_audit, with_known, force)
        return export(self.store, self.settings, run, choices, self.progress)

    def validate(self, choices: "ValidateChoices | None" = None, **given: Any) -> "ValidationReport":
        """Train with GRPO on every arm, measure base and arms on held-out prompts, say whether the choice was right.

        Takes `ValidateChoices`, or its fields by keyword: `arms`, `n_seeds`, `recipe`, `test` and so on. What is
        finished is never done again, so the same call goes on where it stopped.
        """
        from budgetplan.steps.validate import validate
        from budgetplan.steps.validation_choices import ValidateChoices

        return validate(self.store, self.settings, choices or ValidateChoices(**given), self.progress)

    def plan_validation(
        self, choices: "ValidateChoices | None" = None, *, gpu_price: str | None = None, **given: Any
    ) -> "ValidationPlan":
        """Say what `validate` would train, and how long it would take, from a short timing; nothing is trained."""
        from budgetplan.steps.validation_choices import ValidateChoices
        from budgetplan.steps.validation_plan import plan_validation

        chosen = choices or ValidateChoices(**given)
        return plan_validation(self.store, self.settings, chosen, gpu_price, self.progress)

    def disagreements(self) -> "list[Disagreement]":
        """The items on which annotators differ, or contradict what was known beforehand."""
        from budgetplan.steps.status import open_disagreements

        return open_disagreements(self.store, self.progress)

    def status(self) -> "Status":
        """Where the project stands."""
        from budgetplan.steps.status import status

        return status(self.store, self.progress)
