"""A live node for the plugin: a recorded machine's files, kubelet's two sockets, a fake driver."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numa_agent.config import Config
from tests.nvml.answers import document_of
from tests.nvml.library import write
from tests.podresources.servers import kubelet as podresources
from tests.recorded import ROOT, machine

EVENTS = tuple(f"{gpu}.event_types 0 8" for gpu in range(8))
"""Lines of a driver whose cards tell their XIDs."""

NOBODY: Mapping[str, Any] = {"list": {}, "allocatable": {}}


class Node:
    """The folder of a machine that is the live one."""

    def __init__(self, root: Path, name: str = "two-socket-8gpu") -> None:
        self.root = root
        for part in ("sys", "proc"):
            (root / part).symlink_to(machine(name) / part)
        self.plugins = root / "var/lib/kubelet/device-plugins"
        self.plugins.mkdir(parents=True)
        self.document = document_of(name)
        self.ids: list[str] = [gpu["uuid"] for gpu in self.document["gpus"]]
        self.answers = root / "nvml.txt"
        self.driver()
        self.settings = root / "config.yaml"

    def config(self, **more: Any) -> Config:
        """The settings in this process."""
        return Config(
            **{
                "host_root": self.root,
                "live_root": self.root,
                "node_name": None,
                "kubeconfig": None,
                "nvml": "off",
                **more,
            }
        )

    def driver(self, *lines: str) -> None:
        """Let the driver answer as recorded, and these lines besides."""
        write(self.answers, self.document, *EVENTS, *lines)

    def lose(self, gpu: int) -> None:
        """Let a card fall off the bus, from the next writing of the answers on."""
        answers = self.document["gpus"][gpu]
        kept = {"handle", "pci"}
        answers |= {key: {"error": "GpuIsLost"} for key in answers.keys() - kept}

    @contextmanager
    def granting(self, answer: Mapping[str, Any] = NOBODY) -> Iterator[None]:
        """kubelet's podresources while the block runs."""
        socket = self.root / "var/lib/kubelet/pod-resources/kubelet.sock"
        socket.parent.mkdir(exist_ok=True)
        socket.unlink(missing_ok=True)
        with podresources(socket, answer):
            yield


class Process:
    """`numa-agent gpu-plugin` on a node; what it says is in `log`."""

    def __init__(self, node: Node, library: Path, **settings: str) -> None:
        found = {
            "hostRoot": str(node.root),
            "liveRoot": str(node.root),
            "nvml": str(library),
            **settings,
        }
        node.settings.write_text("".join(f"{key}: {value}\n" for key, value in found.items()))
        self.log = node.root / "log"
        unset = ("NODE_NAME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST")
        own = {key: value for key, value in os.environ.items() if key not in unset}
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "numa_agent", "gpu-plugin", "--config", str(node.settings)],
                env={**own, "FAKE_NVML_FILE": str(node.answers)},
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def said(self) -> str:
        """All that it printed."""
        return self.log.read_text()

    def end(self, seconds: float = 30.0) -> int:
        """Its exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


@contextmanager
def running(node: Node, library: Path, **settings: str) -> Iterator[Process]:
    """The process, which doesn't outlive the block."""
    process = Process(node, library, **settings)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
        process.process.wait(10)
