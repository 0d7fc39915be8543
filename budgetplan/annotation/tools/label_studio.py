"""Label Studio: a task file and the labelling interface out, any of its exports of labels back.

Invariant: no control of the interface has the name of a key of the task's data. Its JSON_MIN and CSV exports write both
side by side, and one would take the other's place.

Its `Text` shows a prompt as it is: HTML is escaped, never rendered or run (`htmlEscape` in its editor, 1.23). Where the
server runs in secure mode it would fetch a prompt that is a URL; `valueType="text"` forbids that.

An answer is required, except where the verdict is that there is none: a hidden control is neither required nor sent.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from budgetplan.annotation.json_lines import json_lines
from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tools.content import Content
from budgetplan.annotation.tools.label_file import LabelFile, label_file, unreadable
from budgetplan.annotation.tools.label_studio_export import ROW_NAMES, read_rows, read_tasks, tool_warnings

NAME = "label-studio"
HOW_TO_OPEN = (
    "In a Label Studio project, paste the .xml file beside {file} into Settings > Labeling Interface > Code, "
    "then import {file}."
)

_INTERFACE = """\
<View>
  <View style="white-space: pre-wrap">
    <Text name="question" value="$prompt" valueType="text"/>
{model_answer}  </View>
  <TextArea name="answer" toName="question" rows="3" maxSubmissions="1" editable="true" required="true"
            visibleWhen="choice-unselected" whenTagName="verdict" whenChoiceValue="ambiguous,unanswerable"/>
  <Choices name="verdict" toName="question" choice="single" showInline="true">
    <Choice value="ok"/>
    <Choice value="ambiguous"/>
    <Choice value="unanswerable"/>
  </Choices>
</View>
"""
_MODEL_ANSWER = """\
    <Header value="A model's answer, which may be wrong"/>
    <Text name="suggestion" value="$model_answer" valueType="text"/>
"""


def task_files(stem: Path) -> tuple[Path, ...]:
    """Where a shortlist called `stem` is written: the tasks and the interface to label them in."""
    return (stem.with_name(f"{stem.name}.labelstudio.json"), stem.with_name(f"{stem.name}.labelstudio.xml"))


def write_tasks(tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
    """Write tasks in row order, without predictions: they would stand in the form as if the annotator had given them.

    A model's answer is one more text beside the question; "" where there is none, since Label Studio refuses null.
    """
    columns = {
        "item_id": tasks["item_id"],
        "shortlist_id": pa.array([shortlist_id] * len(tasks), pa.string()),
        "prompt": tasks["prompt"],
    }
    shows_model_answer = "model_answer" in tasks.column_names
    if shows_model_answer:
        columns["model_answer"] = tasks["model_answer"].fill_null("")
    data = pa.table(columns).to_struct_array()
    with files[0].open("w", encoding="utf-8", newline="") as stream:
        before = "[\n"
        for lines in json_lines(pa.table({"data": data})):
            stream.write(before + ",\n".join(lines))
            before = ",\n"
        stream.write("\n]\n" if len(tasks) else "[]\n")
    interface = _INTERFACE.format(model_answer=_MODEL_ANSWER if shows_model_answer else "")
    files[1].write_text(interface, encoding="utf-8")


def recognises(content: Content) -> bool:
    """Say whether these are tasks with annotations (JSON), or rows of annotations (JSON_MIN, CSV, TSV)."""
    return _holds_tasks(content) or _holds_rows(content)


def read_labels(content: Content) -> LabelFile:
    """Read an export in any of its formats; skips are in JSON alone, since Label Studio leaves them out of the others.

    Raises LabelError for what is no export of Label Studio.
    """
    if _holds_tasks(content):
        read = read_tasks(content.records)
    elif _holds_rows(content):
        read = read_rows(content.records, from_table=content.kind == "table")
    else:
        raise unreadable(
            content.path,
            "this is no export of Label Studio.",
            "Export as JSON, JSON_MIN, CSV or TSV, not JSON of tasks.",
        )
    return label_file(NAME, read.labels, [*content.bad, *read.bad], tool_warnings(read.labels))


def _holds_tasks(content: Content) -> bool:
    return content.kind != "table" and "data" in content.names and bool(content.names & {"annotations", "completions"})


def _holds_rows(content: Content) -> bool:
    return content.names >= ROW_NAMES
