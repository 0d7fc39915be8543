import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from budgetplan.errors import StoreError, StoreLocked
from budgetplan.records import Completion, ItemId
from budgetplan.store import chunks
from budgetplan.store.chunks import ChunkWriter, chunk_files, sole_sampler


def sample(index: int, text: str = "72") -> Completion:
    return Completion(ItemId("bp-1"), index, 7 + index, text, 1, "stop", -0.5)


def test_a_flush_writes_what_is_waiting_once(tmp_path: Path) -> None:
    writer = ChunkWriter(tmp_path / "run-1")
    writer.add([sample(0), sample(1)])
    writer.flush()
    writer.flush()
    (file,) = chunk_files(tmp_path / "run-1")
    assert pq.read_table(file).column("sample_index").to_pylist() == [0, 1]


def test_samples_are_flushed_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "FLUSH_SECONDS", 0.0)
    writer = ChunkWriter(tmp_path / "run-1")
    writer.add([sample(0)])
    assert len(chunk_files(tmp_path / "run-1")) == 1


def test_samples_are_flushed_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "FLUSH_ROWS", 2)
    writer = ChunkWriter(tmp_path / "run-1")
    writer.add([sample(0)])
    assert not chunk_files(tmp_path / "run-1")
    writer.add([sample(1)])
    assert len(chunk_files(tmp_path / "run-1")) == 1


def test_torn_files_and_empty_folders_go_when_sampling_ends(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    with sole_sampler(folder):
        (folder / "run-1").mkdir()
        (folder / "run-1" / "half.writing").write_bytes(b"PAR1 torn")
    assert not folder.exists()


def test_a_full_disk_is_an_error_that_keeps_earlier_chunks(tmp_path: Path) -> None:
    """A limit on file sizes stands for the full disk: the write fails half-way in both."""
    code = f"""
import os, resource, signal
from pathlib import Path
from budgetplan.store.chunks import ChunkWriter
from budgetplan.records import Completion
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = ChunkWriter(Path({str(tmp_path)!r}) / "run-1")
writer.add([Completion("bp-1", 0, 7, "72", 1, "stop", None)])
writer.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
writer.add([Completion("bp-1", 1, 8, os.urandom(20000).hex(), 1, "stop", None)])
writer.flush()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "StoreError" in ended.stderr
    assert "df -h" in ended.stderr
    (kept,) = (tmp_path / "run-1").iterdir()
    assert pq.read_table(kept).num_rows == 1


def test_only_one_process_samples_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "store.duckdb.samples"
    with sole_sampler(folder):
        with pytest.raises(StoreLocked, match="another process is sampling"), sole_sampler(folder):
            pass
        assert folder.is_dir()
    assert not folder.exists()
    with sole_sampler(folder):
        pass


def test_the_folder_stays_while_chunks_wait(tmp_path: Path) -> None:
    with sole_sampler(tmp_path / "samples"):
        writer = ChunkWriter(tmp_path / "samples" / "run-1")
        writer.add([sample(0)])
        writer.flush()
    assert len(chunk_files(tmp_path / "samples" / "run-1")) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="could not be written"), sole_sampler(tmp_path / "file" / "samples"):
        pass
