"""Recording a machine, unpacking it, and what commands answer of both."""

import gzip
import io
import json
import re
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from numa_agent import cli
from numa_agent.cli import main
from numa_agent.config import Config
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.recording.packing import Packing
from numa_agent.wiring.recording import DEFAULT_LIMIT, Recording, record_once

SCHEDULERS = ("kube-scheduler", "koordinator", "ack")
COMMANDS = {
    "topology": ("topology", "-o", "json"),
    "plan": ("plan", "-o", "json"),
    **{each: ("render", "--scheduler", each, "-o", "json") for each in SCHEDULERS},
    # By the same pass, once it is there.
    **({"verify": ("verify", "-o", "json")} if "verify" in cli.COMMANDS else {}),
}
FINGERPRINT = re.compile(r"pfp0v\w+")
"""A digest of the pods' names, so that it is another with pseudonyms."""


@dataclass(frozen=True)
class Recorded:
    """A recording: its folder once unpacked, its tar before that, and what was said of it."""

    folder: Path
    raw: bytes
    made: Recording

    @property
    def names(self) -> Names:
        return self.made.names

    @property
    def paths(self) -> set[str]:
        return {each.path for each in self.made.recorded}

    @property
    def left_out(self) -> dict[str, str]:
        return {each.path: each.why for each in self.made.left_out}

    def text(self, path: str) -> str:
        return (self.folder / path).read_text()

    def json(self, path: str) -> Any:
        return json.loads(self.text(path))


def record(
    machine: Path,
    into: Path,
    *,
    keep_names: bool = False,
    limit: int = DEFAULT_LIMIT,
    seconds: float = 60.0,
    config: Config | None = None,
    packing: Packing = Packing.NONE,
) -> Recorded:
    """Record a machine and unpack what came of it."""
    stream = io.BytesIO()
    settings = config or Config(
        host_root=machine, live_root=Path("/"), node_name=None, kubeconfig=None
    )
    made = record_once(
        settings, stream, packing=packing, limit=limit, keep_names=keep_names, seconds=seconds
    )
    raw = unpacked(stream.getvalue(), packing)
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
        tar.extractall(into, filter="data")
    return Recorded(into / "recorded-machine", raw, made)


def unpacked(data: bytes, packing: Packing) -> bytes:
    """The tar in a recording that is packed this way."""
    if packing is Packing.ZSTD:
        # Not above: a guest that records has no such library.
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return zstd.decompress(data)
    return gzip.decompress(data) if packing is Packing.GZIP else data


def answers(
    root: Path,
    capsys: pytest.CaptureFixture[str],
    commands: Mapping[str, tuple[str, ...]] = COMMANDS,
    *more: str,
) -> dict[str, str]:
    """What each command answers of a machine: its exit code and all that it prints."""
    found: dict[str, str] = {}
    for name, command in commands.items():
        capsys.readouterr()
        status = main([*command, *more, "--host-root", str(root)])
        said = capsys.readouterr()
        text = f"{status}\n{said.out}\n{said.err}".replace(str(root), "ROOT")
        found[name] = FINGERPRINT.sub("FINGERPRINT", text)
    return found


def mapped_back(text: str, names: Names) -> str:
    """A text with the names for which its pseudonyms stand."""
    for pseudonym, name in names.originals.items():
        text = text.replace(pseudonym, name)
        if "-" in pseudonym:
            # As systemd has a uid in a cgroup's name.
            text = text.replace(pseudonym.replace("-", "_"), name.replace("-", "_"))
    return text
