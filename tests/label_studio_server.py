"""A real Label Studio for tests: started on loopback with a data folder of its own, spoken to over its API, stopped."""

import http.cookiejar
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT_ROOT = Path(__file__).resolve().parents[1]
OWNER = "owner@example.com"
START_SECONDS = 240
CALL_SECONDS = 60


def label_studio_or_skip() -> Path:
    """The virtual environment made by install_label_studio.sh; skips the test where there is none."""
    venv = Path(os.environ.get("BUDGETPLAN_LABEL_STUDIO", PROJECT_ROOT / ".venv-label-studio")).absolute()
    if not (venv / "bin" / "label-studio").is_file():
        pytest.skip(
            "needs Label Studio: sh tests/install_label_studio.sh .venv-label-studio, "
            "or BUDGETPLAN_LABEL_STUDIO=its virtual environment"
        )
    return venv


@dataclass(frozen=True, slots=True)
class Account:
    """One user of the server."""

    url: str
    email: str
    token: str

    def call(self, method: str, path: str, body: Any = None) -> bytes:
        """Ask the API."""
        return self._send(method, path, None if body is None else json.dumps(body).encode(), "application/json")

    def json(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API for JSON."""
        return json.loads(self.call(method, path, body) or b"null")

    def upload(self, path: str, file: Path) -> Any:
        """Send a file as the browser's import dialog does."""
        mark = secrets.token_hex(16)
        head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{file.name}"\r\n\r\n'
        data = head.encode() + file.read_bytes() + f"\r\n--{mark}--\r\n".encode()
        return json.loads(self._send("POST", path, data, f"multipart/form-data; boundary={mark}"))

    def _send(self, method: str, path: str, data: bytes | None, content_type: str) -> bytes:
        """Send a request; a status of 400 or more is an AssertionError with what the server said."""
        headers = {"Authorization": f"Token {self.token}", "Content-Type": content_type}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with _browser().open(request, timeout=CALL_SECONDS) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()[:2000]}") from None

    def invite(self, email: str) -> "Account":
        """Sign a second person up through the organisation's invitation link, and fetch their token."""
        link = self.url + self.json("GET", "/api/invite")["invite_url"]
        browser = _browser()
        with browser.open(link, timeout=CALL_SECONDS) as page:
            csrf = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
        assert csrf, "the sign-up page has no form"
        form = {"csrfmiddlewaretoken": csrf[1], "email": email, "password": secrets.token_urlsafe(16)}
        browser.open(link, urllib.parse.urlencode(form).encode(), timeout=CALL_SECONDS).close()
        with browser.open(self.url + "/api/current-user/token", timeout=CALL_SECONDS) as response:
            return Account(self.url, email, json.load(response)["token"])


@dataclass(frozen=True, slots=True)
class LabelProject:
    """A project on the server: its tasks in the order in which they were imported."""

    owner: Account
    id: int
    tasks: list[dict[str, Any]]

    def export(self, kind: str, options: str = "") -> bytes:
        """Download what was said, as JSON, JSON_MIN, CSV or TSV."""
        return self.owner.call("GET", f"/api/projects/{self.id}/export?exportType={kind}{options}")


def open_shortlist(owner: Account, tasks: Path, interface: Path) -> LabelProject:
    """Open a shortlist as a user does: paste the interface, import the tasks."""
    config = interface.read_text(encoding="utf-8")
    project = owner.json("POST", "/api/projects", {"title": "shortlist", "label_config": config})["id"]
    owner.call("POST", f"/api/projects/{project}/validate/", {"label_config": config})
    owner.upload(f"/api/projects/{project}/import", tasks)
    listed = owner.json("GET", f"/api/tasks?project={project}&page_size=1000&fields=all")["tasks"]
    return LabelProject(owner, project, sorted(listed, key=lambda task: task["id"]))


def form(answer: str | None, verdict: str | None) -> list[dict[str, Any]]:
    """What the editor sends for the two controls."""
    filled = [("answer", "textarea", {"text": [answer]})] if answer is not None else []
    filled += [("verdict", "choices", {"choices": [verdict]})] if verdict is not None else []
    return [
        {"id": kind, "from_name": name, "to_name": "question", "type": kind, "origin": "manual", "value": value}
        for name, kind, value in filled
    ]


@contextmanager
def label_studio(venv: Path, folder: Path) -> Iterator[Account]:
    """Run a server whose data lie in `folder`; yields its owner. It is killed at the end, whatever happens."""
    token, port = secrets.token_hex(20), _free_port()
    log = folder / "server.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            [
                venv / "bin" / "label-studio",
                "start",
                "--no-browser",
                "--port",
                str(port),
                "--internal-host",
                "127.0.0.1",
            ],
            env=_environment(venv, folder, token),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        owner = Account(f"http://127.0.0.1:{port}", OWNER, token)
        _wait(server, owner, log)
        yield owner
    finally:
        with suppress(ProcessLookupError):  # it ended by itself
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _browser() -> urllib.request.OpenerDirector:
    """A client with cookies of its own that goes to loopback directly, whatever proxy is set."""
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)


def _environment(venv: Path, folder: Path, token: str) -> dict[str, str]:
    """Say what the server may see: nothing of the caller's settings, and nobody to report to."""
    return {
        "PATH": f"{venv / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_USERNAME": OWNER,
        "LABEL_STUDIO_PASSWORD": secrets.token_urlsafe(16),
        "LABEL_STUDIO_USER_TOKEN": token,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_SENTRY_DSN": "",
        "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], owner: Account, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            owner.json("GET", "/api/version")
            return
        except (OSError, AssertionError):
            time.sleep(0.5)
    tail = log.read_text(errors="replace")[-4000:]
    state = f"is not up after {START_SECONDS} s" if server.poll() is None else f"ended with {server.returncode}"
    raise AssertionError(f"Label Studio {state}:\n{tail}")
