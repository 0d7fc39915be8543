"""JSON Lines as a column of lines, without a copy; a row is known by its physical line, counted from 1."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LINES_PER_CHUNK = 4096  # DuckDB hands out one chunk per thread at a time
_BYTES_PER_SCAN = 1 << 24  # the scan for line ends needs as many bytes again


def line_table(content: pa.Buffer) -> pa.Table:
    """Columns `row` (int64) and `doc` (large_string over `content` itself), without the blank lines."""
    starts = _line_starts(content)
    filled = _is_filled(content, starts)
    # A blank line becomes the tail of the line before it, where a JSON parser skips white space.
    bounds = np.append(starts[filled], content.size)
    lines = pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, [None, pa.py_buffer(bounds), content])
    table = pa.table({"row": np.flatnonzero(filled) + 1, "doc": lines})
    return pa.Table.from_batches(table.to_batches(max_chunksize=LINES_PER_CHUNK), schema=table.schema)


def _line_starts(content: pa.Buffer) -> npt.NDArray[np.int64]:
    data = np.frombuffer(content, np.uint8)
    pieces = [np.zeros(1, np.int64)]
    for begin in range(0, len(data), _BYTES_PER_SCAN):
        pieces.append(np.flatnonzero(data[begin : begin + _BYTES_PER_SCAN] == ord("\n")) + begin + 1)
    starts = np.concatenate(pieces).astype(np.int64)
    return starts[starts < len(data)]


def _is_filled(content: pa.Buffer, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell the lines that hold something from the blank ones; only lines that begin with white space are looked at."""
    data = np.frombuffer(content, np.uint8)
    filled = np.asarray(data[starts] > ord(" "))
    for index in np.flatnonzero(~filled):
        end = starts[index + 1] if index + 1 < len(starts) else len(data)
        filled[index] = bool(data[starts[index] : end].tobytes().strip())
    return filled
