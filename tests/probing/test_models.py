import json
import shutil
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from huggingface_hub import constants

from budgetplan.errors import ModelError
from budgetplan.probing.models import (
    ALIASES,
    UNLIMITED,
    context_length,
    fetch_weights,
    load_config,
    load_tokenizer,
    resolve_model,
)
from budgetplan.probing.weights import digest_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TinyModel = Callable[..., Path]


@pytest.fixture
def copied_model(tiny_model: TinyModel, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model("qwen3"), tmp_path / "model"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache, and a hub that cannot be reached."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    return tmp_path / "hub"


class Hub(BaseHTTPRequestHandler):
    """Enough of the hub's protocol for the real client: who asks for what is answered by the name of the model."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        self._answer(send_body=True)

    def do_HEAD(self) -> None:
        self._answer(send_body=False)

    def _answer(self, *, send_body: bool) -> None:
        path = self.path.split("?")[0]
        if "/missing" in path:
            self._send(401, b"", {"X-Error-Code": "RepoNotFound"}, send_body)
        elif "/broken" in path:
            self._send(403, b"", {"X-Error-Message": "the owner has disabled it"}, send_body)
        elif path.startswith("/api/") and "/tree/" in path:
            self._send_json([self._entry(name) for name in self.files], send_body)
        elif path.startswith("/api/") and "no-such-branch" in path:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"}, send_body)
        elif path.startswith("/api/"):
            siblings = [{"rfilename": name} for name in self.files]
            self._send_json({"id": "org/model", "sha": COMMIT, "siblings": siblings}, send_body)
        elif "/gated/" in path:
            self._send(403, b"", {"X-Error-Code": "GatedRepo"}, send_body)
        else:
            self._send_file(path.rpartition("/")[2], send_body)

    def _entry(self, name: str) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(self.files[name]), "oid": f"{len(name):040x}"}

    def _send_file(self, name: str, send_body: bool) -> None:
        if name not in self.files:
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, send_body)
            return
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{len(self.files[name]):040x}"'}
        self._send(200, self.files[name], headers, send_body)

    def _send_json(self, content: object, send_body: bool) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"}, send_body)

    def _send(self, status: int, body: bytes, headers: dict[str, str], send_body: bool) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if send_body:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: TinyModel) -> Iterator[type[Hub]]:
    Hub.files = {path.name: path.read_bytes() for path in tiny_model("qwen3").iterdir()}
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield Hub
        server.shutdown()
        thread.join()


def test_a_local_folder_is_pinned_to_what_its_files_hold(copied_model: Path) -> None:
    resolved = resolve_model(str(copied_model))
    assert resolved.identity.name == str(copied_model)
    assert resolved.location == str(copied_model)
    assert resolved.hub_revision is None

    elsewhere = shutil.copytree(copied_model, copied_model.parent / "other" / "place")
    (elsewhere / "README.md").write_text("notes")
    assert resolve_model(str(elsewhere)).identity.revision == resolved.identity.revision


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_one_changed_byte_is_another_revision(copied_model: Path, name: str) -> None:
    before = digest_of(copied_model)
    content = bytearray((copied_model / name).read_bytes())
    content[-10] ^= 1
    (copied_model / name).write_bytes(content)
    assert digest_of(copied_model) != before


def test_large_weights_are_told_apart_by_head_middle_tail_and_size(tmp_path: Path) -> None:
    size = 3 << 30  # sparse: takes no space on disk
    weights = tmp_path / "model.safetensors"
    digests = []
    for changed_at in (None, 0, size // 2, size - 1):
        with weights.open("wb") as file:
            file.truncate(size)
            if changed_at is not None:
                file.seek(changed_at - changed_at % 4096)
                file.write(b"x" * min(4096, size - changed_at))
        digests.append(digest_of(tmp_path))
    with weights.open("r+b") as file:
        file.truncate(size + 1)
    digests.append(digest_of(tmp_path))
    assert len(set(digests)) == 5


def test_digesting_thirty_gigabytes_takes_seconds(tmp_path: Path) -> None:
    for shard in range(6):
        with (tmp_path / f"model-{shard}.safetensors").open("wb") as file:
            file.truncate(5 << 30)
    started = time.monotonic()
    digest_of(tmp_path)
    assert time.monotonic() - started < 5


def test_what_is_not_a_whole_model_is_told_apart(copied_model: Path, tmp_path: Path) -> None:
    def complaint(path: Path) -> str:
        with pytest.raises(ModelError) as caught:
            resolve_model(str(path))
        assert str(path) in caught.value.message
        return str(caught.value)

    empty = tmp_path / "empty"
    empty.mkdir()
    for text in (complaint(empty), complaint(tmp_path / "nowhere")):
        assert "--model PATH" in text
        assert "budgetplan import-samples" in text
        assert "budgetplan demo" in text
    assert "empty" in complaint(empty)
    assert "no such folder" in complaint(tmp_path / "nowhere")
    assert "is a file" in complaint(copied_model / "config.json")

    weights = copied_model / "model.safetensors"
    weights.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    assert "incomplete" in complaint(copied_model)
    weights.unlink()
    assert "incomplete" in complaint(copied_model)
    (copied_model / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})
    )
    assert "model-00001-of-00002.safetensors" in complaint(copied_model)
    (copied_model / "model.safetensors.index.json").write_text("{")
    assert "model.safetensors.index.json" in complaint(copied_model)


def test_an_adapter_is_refused_with_the_command_that_merges_it(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match="LoRA adapter") as caught:
        resolve_model(str(tmp_path))
    assert "merge_and_unload" in caught.value.hint


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_without_a_network_the_error_is_quick_and_names_the_ways_on(cache: Path, alias: str) -> None:
    started = time.monotonic()
    with pytest.raises(ModelError) as caught:
        resolve_model(alias)
    assert time.monotonic() - started < 5
    assert ALIASES[alias] in caught.value.message
    assert "offline" in caught.value.message
    for way in ("--model PATH", "budgetplan import-samples", "budgetplan demo"):
        assert way in caught.value.hint


def test_a_hub_name_is_pinned_to_its_commit_and_downloaded_once(
    hub: type[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = resolve_model("org/model")
    assert resolved.identity.name == "org/model"
    assert resolved.identity.revision == resolved.hub_revision == COMMIT
    assert resolved.location == "org/model"

    fetched = fetch_weights(resolved)
    assert fetched.identity == resolved.identity
    assert (Path(fetched.location) / "model.safetensors").read_bytes() == hub.files["model.safetensors"]
    assert load_tokenizer(fetched).decode(load_tokenizer(fetched)("héllo")["input_ids"]) == "héllo"

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # the network is gone: the cache is pinned
    assert resolve_model("org/model", COMMIT) == fetched
    assert fetch_weights(fetched) == fetched


def test_a_branch_in_the_cache_is_found_without_a_network(hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = fetch_weights(resolve_model("org/model"))
    refs = Path(fetched.location).parents[1] / "refs"
    refs.mkdir(exist_ok=True)
    (refs / "main").write_text(COMMIT)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert resolve_model("org/model") == fetched

    (Path(fetched.location) / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="offline"):
        resolve_model("org/model")


@pytest.mark.parametrize(
    ("name", "revision", "says"),
    [
        ("org/gated", None, "gated"),
        ("org/missing", None, "not found"),
        ("org/model", "no-such-branch", "not found at revision no-such-branch"),
        ("org/broken", None, "the hub refuses it"),
    ],
)
def test_the_hub_s_refusals_are_told_apart(hub: type[Hub], name: str, revision: str | None, says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        resolve_model(name, revision)
    assert name in caught.value.message
    assert "offline" not in caught.value.message
    assert "budgetplan import-samples" in caught.value.hint


def test_a_hub_model_without_weights_is_refused(hub: type[Hub]) -> None:
    resolved = resolve_model("org/model")
    hub.files = {name: content for name, content in hub.files.items() if name != "model.safetensors"}
    with pytest.raises(ModelError, match=r"org/model: the hub has no \*\.safetensors"):
        fetch_weights(resolved)


def test_offline_mode_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="offline"):
        resolve_model("org/model")


def test_a_tokenizer_that_is_not_there_is_a_model_error(copied_model: Path) -> None:
    (copied_model / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="tokenizer cannot be loaded"):
        load_tokenizer(resolve_model(str(copied_model)))
    (copied_model / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no tokenizer"):
        load_tokenizer(resolve_model(str(copied_model)))


def test_foreign_code_is_not_run_unless_asked_for(copied_model: Path) -> None:
    config = json.loads((copied_model / "config.json").read_text())
    config |= {"model_type": "homemade", "auto_map": {"AutoConfig": "homemade.Config"}}
    (copied_model / "config.json").write_text(json.dumps(config))
    (copied_model / "homemade.py").write_text(
        "from transformers import PretrainedConfig\nclass Config(PretrainedConfig):\n    max_position_embeddings = 77\n"
    )
    resolved = resolve_model(str(copied_model))
    with pytest.raises(ModelError) as caught:
        load_config(resolved)
    assert "--trust-remote-code" in caught.value.hint


@pytest.mark.parametrize("family", ["qwen3", "llama", "phi3"])
def test_the_context_is_read_from_each_family(tiny_model: TinyModel, family: str) -> None:
    assert context_length(load_config(resolve_model(str(tiny_model(family))))) == 2048


def test_a_model_that_names_no_context_has_none() -> None:
    from transformers import PretrainedConfig

    assert context_length(PretrainedConfig()) == UNLIMITED
