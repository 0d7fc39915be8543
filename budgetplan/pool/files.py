"""The bytes of a file the user named: found, unpacked, and valid UTF-8 before anything parses them."""

import difflib
import gzip
import io
import shlex
import zlib
from itertools import islice
from pathlib import Path

import pyarrow as pa

from budgetplan.errors import PoolError

_UTF16 = ("UTF-16 text", "Convert it: iconv -f utf-16 -t utf-8 {file} > pool.jsonl")
_FOREIGN = {
    b"PK\x03\x04": ("a zip archive or a spreadsheet", "Unpack it (unzip {file}), or save the sheet as CSV."),
    b"ARROW1": ("an Arrow file", "Save it as Parquet, or as a dataset folder with `save_to_disk`."),
    b"\xff\xfe": _UTF16,
    b"\xfe\xff": _UTF16,
    b"BZh": ("a bzip2 archive", "Unpack it: bunzip2 {file}"),
    b"\xfd7zXZ": ("an xz archive", "Unpack it: unxz {file}"),
    b"\x28\xb5\x2f\xfd": ("a zstd archive", "Unpack it: unzstd {file}"),
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text_bytes(path: Path, source: str) -> pa.Buffer:
    """Map a plain file or unpack a gzipped one; raise PoolError unless it is UTF-8 text that is not all blank."""
    content = _content(path, source)
    head = content[:4096].to_pybytes()
    _refuse_foreign(head, source)
    if head.startswith(_BYTE_ORDER_MARK):
        content = content[len(_BYTE_ORDER_MARK) :]
    if not head.removeprefix(_BYTE_ORDER_MARK).strip() and not content.to_pybytes().strip():
        raise PoolError(f"{source} is empty.", hint="A pool has one prompt per row.")
    _check_utf8(content, source)
    return content


def first_lines(content: pa.Buffer, count: int) -> list[str]:
    """The first lines that are not blank, without the white space around them."""
    filled = (line for raw in open_text(content) if (line := raw.strip(" \t\r\n")))
    return list(islice(filled, count))


def open_text(content: pa.Buffer) -> io.TextIOWrapper:
    """Read the bytes as a text file, line ends untouched."""
    return io.TextIOWrapper(pa.BufferReader(content), encoding="utf-8", newline="")


def as_one_string(content: pa.Buffer) -> pa.Array:
    """The bytes as a column of one text, without a copy."""
    bounds = pa.array([0, content.size], pa.int64()).buffers()[1]
    return pa.Array.from_buffers(pa.large_string(), 1, [None, bounds, content])


def starts_with(path: Path, magic: bytes) -> bool:
    """Say whether a regular file begins with these bytes; a pipe is not read, since it can be read only once."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def missing_file(path: Path, source: str) -> PoolError:
    """Build the error for a path that is not there, with the names beside it that look alike."""
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    where = f"Did you mean {' or '.join(str(path.parent / name) for name in alike)}?" if alike else ""
    return PoolError(
        f"{source}: there is no such file.", hint=where or "Name a file, a folder saved by `datasets`, or hf://name."
    )


def _refuse_foreign(head: bytes, source: str) -> None:
    for magic, (what, hint) in _FOREIGN.items():
        if head.startswith(magic):
            raise PoolError(f"{source}: this is {what}.", hint=hint.format(file=shlex.quote(source)))
    if b"\0" in head:
        raise PoolError(f"{source}: this is a binary file.", hint="Pools are JSON Lines, JSON, CSV, TSV or Parquet.")


def _content(path: Path, source: str) -> pa.Buffer:
    try:
        if starts_with(path, b"\x1f\x8b"):
            return pa.py_buffer(gzip.decompress(path.read_bytes()))
        if path.is_file() and path.stat().st_size > 0:
            return pa.memory_map(str(path)).read_buffer()
        return pa.py_buffer(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise PoolError(f"{source}: cannot be read: {error}.") from error


def _check_utf8(content: pa.Buffer, source: str) -> None:
    try:
        as_one_string(content).validate(full=True)
        return
    except pa.ArrowInvalid:
        pass
    text = content.to_pybytes()
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line_start = text.rfind(b"\n", 0, error.start) + 1
        line = text.count(b"\n", 0, error.start) + 1
        place = f"{source}:{line}"
        raise PoolError(
            f"{place}: not UTF-8: byte 0x{text[error.start]:02x} at byte {error.start - line_start + 1} of the line.",
            hint=f"Convert it: iconv -f latin1 -t utf-8 {shlex.quote(source)} > pool.jsonl",
        ) from None
