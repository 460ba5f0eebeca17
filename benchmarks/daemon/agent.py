"""The agent as a process of its own, and what it says of itself."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.daemon.plane import NODE

READY_SECONDS = 60.0


class Agent:
    """`numa-agent run` on a machine's folder and a cluster; it is running once it is made.

    It signs in as a pod does, with a ServiceAccount's folder, or by a kubeconfig.
    """

    def __init__(self, root: Path, url: str, account: Path | None, *lines: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._said = root / "said.txt"
        configuration = root / "numa-agent.yaml"
        settings = (
            f"hostRoot: {root}",
            f"liveRoot: {root}",
            f"nodeName: {NODE}",
            f"metrics: 127.0.0.1:{self._port}",
            *lines,
        )
        configuration.write_text("\n".join(settings) + "\n")
        host, _, port = url.removeprefix("https://").rpartition(":")
        command = [sys.executable, "-m", "benchmarks.daemon.child"]
        self.began = time.monotonic()
        service = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        with self._said.open("w") as log:
            self._process = subprocess.Popen(
                [*command, str(account or ""), "run", "--config", str(configuration)],
                env={**os.environ, **service},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.pid = self._process.pid

    def ready(self) -> float:
        """The seconds from its start until it says that it is ready."""
        while time.monotonic() - self.began < READY_SECONDS:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(self._url("readyz"), timeout=5):
                    return time.monotonic() - self.began
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        raise SystemExit(f"the agent isn't ready:\n{self.said()[-3000:]}")

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        with urllib.request.urlopen(self._url("metrics"), timeout=10) as answer:
            text: str = answer.read().decode()
        lines = (line for line in text.splitlines() if line.startswith((f"{name} ", f"{name}{{")))
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def said(self) -> str:
        """What it has printed."""
        return self._said.read_text()

    def close(self) -> float:
        """End it; the seconds that this took."""
        began = time.monotonic()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return time.monotonic() - began

    def _url(self, page: str) -> str:
        return f"http://127.0.0.1:{self._port}/{page}"
