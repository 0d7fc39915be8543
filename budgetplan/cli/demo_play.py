"""The commands that the demo plays: each is said as a user would type it, run, and shown as it always is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from budgetplan.demo.validations import DemoValidation
    from budgetplan.project import Project
    from budgetplan.steps.export import Exported
    from budgetplan.steps.ingest import IngestReport
    from budgetplan.steps.probe import ProbeReport
    from budgetplan.steps.rank import Ranking
    from budgetplan.steps.shortlist import Shortlisted
    from budgetplan.steps.status import Status
    from budgetplan.steps.validated import ValidationReport

Report = TypeVar("Report")


@dataclass(frozen=True, slots=True)
class Play:
    """Commands on one store; `silent` where one document follows in the end."""

    project: "Project"
    folder: Path
    silent: bool

    def probe(self, pool: Path) -> "ProbeReport":
        """Sample the pool."""
        from budgetplan.cli.screens import show_probe

        self._type(f"probe {pool}")
        return self._shown(self.project.probe(pool), show_probe)

    def rank(self, top: int) -> "Ranking":
        """Rank the pool."""
        from budgetplan.cli.ranking import show_ranking

        self._type(f"rank --top {top}")
        return self._shown(self.project.rank(), lambda shown, as_json: show_ranking(shown, top=top, as_json=as_json))

    def shortlist(
        self, table: str, budget: str | None = None, *, batch: str | None = None, tool: str | None = None
    ) -> "Shortlisted":
        """Choose, and write the table and the annotators' files into the folder."""
        from budgetplan.cli.shortlisted import show_shortlist

        out = self.folder / table
        given = {"--budget": budget, "--batch": batch, "--format": tool, "--out": str(out)}
        self._type("shortlist " + " ".join(f"{name} {value}" for name, value in given.items() if value))
        chosen = self.project.shortlist(budget, batch=batch, tool=tool or "spreadsheet", out=out, force=True)
        return self._shown(chosen, show_shortlist)

    def label(self, chosen: "Shortlisted", export: str, seed: int = 0) -> "IngestReport":
        """Let the simulated annotators label a shortlist, and take their export back."""
        from budgetplan.cli.labelling import show_ingest
        from budgetplan.demo.annotators import write_export

        assert chosen.files is not None
        file = write_export(chosen.files.annotators[0], self.folder / export, seed)
        self._type(f"ingest {file}", f"(two simulated annotators label it; their export is {file})\n")
        return self._shown(self.project.ingest([file]), show_ingest)

    def validate(self, test: Path, chosen: "DemoValidation") -> "ValidationReport":
        """Train on every arm, and show what came out."""
        from budgetplan.cli.validated import show_validation

        changes = {
            name: getattr(chosen, name)
            for name in ("steps", "evaluate_every", "prompts_per_update", "learning_rate", "beta")
        }
        given = {"arms": ",".join(chosen.arms), "seeds": chosen.n_seeds, **changes, "test": test}
        words = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
        self._type(f"validate {words} --full --out {self.folder / 'validation'}")
        report = self.project.validate(
            arms=chosen.arms,
            n_seeds=chosen.n_seeds,
            changes=changes,
            test=str(test),
            lora=False,
            out=self.folder / "validation",
        )
        return self._shown(report, show_validation)

    def status(self) -> "Status":
        """Say where the store stands."""
        from budgetplan.cli.standing import show_status

        self._type("status")
        return self._shown(self.project.status(), show_status)

    def export(self, name: str) -> "Exported":
        """Write the training set for TRL."""
        from budgetplan.cli.labelling import show_exported

        out = self.folder / name
        self._type(f"export --for trl --out {out}")
        return self._shown(self.project.export("trl", out=out, force=True), show_exported)

    def say(self, text: str) -> None:
        """Print what is no command's."""
        from budgetplan.cli.terminal import say

        if not self.silent:
            say(text)

    def _type(self, command: str, before: str = "") -> None:
        self.say(f"\n{before}$ budgetplan {command} --db {self.project.settings.db}")

    def _shown(self, report: Report, show: Callable[..., None]) -> Report:
        if not self.silent:
            show(report, as_json=False)
        return report


def ingest_document(report: "IngestReport") -> dict[str, Any]:
    """An ingest as part of a document, without the list of what changed."""
    from budgetplan.cli.documents import plain

    return {name: value for name, value in plain(report).items() if name != "changes"}
