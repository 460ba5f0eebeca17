"""A web server on loopback that has the API server's rules for objects, and bad days on demand.

Real sockets and real HTTP, for the answers that a real API server can't be made to give.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONFIG = """\
apiVersion: v1
kind: Config
current-context: main
contexts: [{{name: main, context: {{cluster: main, user: main}}}}]
users: [{{name: main, user: {{token: secret}}}}]
clusters: [{{name: main, cluster: {{server: "{server}"}}}}]
"""


def kubeconfig_of(server: str, folder: Path) -> Path:
    path = folder / "kubeconfig"
    path.write_text(CONFIG.format(server=server))
    return path


@dataclass(frozen=True, kw_only=True)
class Bad:
    """One answer in place of the right one; `silence` are seconds without any."""

    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    silence: float = 0.0


@dataclass(kw_only=True)
class Loopback:
    """The objects by path, the answers to come before right ones, and what was asked."""

    url: str = ""
    objects: dict[str, Any] = field(default_factory=dict)
    bad: list[Bad] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    seen: list[Mapping[str, str]] = field(default_factory=list)
    version: int = 0

    def apply(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Merge a manifest as server-side apply does for one manager; equal is no new version."""
        before = self.objects.get(path)
        stored: dict[str, Any] = {} if before is None else json.loads(json.dumps(before))
        wanted = body.get("metadata", {}).pop("resourceVersion", None)
        if before is not None and wanted not in (None, before["metadata"]["resourceVersion"]):
            return 409, status_of(409, "Conflict", "the object has been modified")
        metadata = {**stored.get("metadata", {}), **body.get("metadata", {})}
        stored |= {**body, "metadata": metadata}
        if stored == before:
            return 200, stored
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        self.objects[path] = stored
        return (201 if before is None else 200), stored


def status_of(code: int, reason: str, message: str) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Serve until the block ends."""
    state = Loopback()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            found = state.objects.get(path)
            missing = (404, status_of(404, "NotFound", f"{path} not found"))
            self._answer(*(missing if found is None else (200, found)))

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._bad_day():
                self._answer(*state.apply(self.path.partition("?")[0], body), bad=False)

        def _bad_day(self) -> bool:
            state.asked.append(f"{self.command} {self.path}")
            state.seen.append(dict(self.headers))
            if not state.bad:
                return False
            bad = state.bad.pop(0)
            time.sleep(bad.silence)
            self.close_connection = True
            if not bad.silence:
                self._send(bad.status, bad.headers, bad.body)
            return True

        def _answer(self, status: int, content: dict[str, Any], bad: bool = True) -> None:
            if bad and self._bad_day():
                return
            self._send(status, {"Content-Type": "application/json"}, json.dumps(content).encode())

        def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response_only(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
