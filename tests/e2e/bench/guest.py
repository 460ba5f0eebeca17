"""A guest that is a Kubernetes node: containerd, runc, crun and kubelet on a NUMA machine in QEMU.

Its network is QEMU's user network. The node's name is an address of this machine's loopback that
nobody uses, and there its kubelet and the runner of commands are reached, so several guests
and several test runs don't meet.
"""

import contextlib
import json
import os
import random
import shlex
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.bench.node_files import COMMAND_PORT, PORTS, NodeFiles
from tests.vm.kernel import SEARCH_PATH

BOOT_SECONDS = 180
HUNG_SECONDS = 30
"""A guest says each second that it is there. One that is silent for so long has hung: a busy host
makes it late by seconds."""


class GuestHungError(Exception):
    """The guest does nothing any more, which is emulation's fault and not the product's."""


class CommandError(AssertionError):
    """A command in the guest failed; the message has what it said."""


def free_address() -> str:
    """An address of the loopback network at which neither of the guest's ports is used."""
    for _ in range(100):
        address = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.2"
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for port in PORTS:
                stack.enter_context(socket.socket()).bind((address, port))
            return address
    raise RuntimeError("no address of 127.0.0.0/8 is free")


@dataclass(kw_only=True)
class Guest(NodeFiles):
    """One node, off until `boot`. Its console and logs are in `folder`."""

    hung_seconds: float = HUNG_SECONDS
    _qemu: subprocess.Popen[bytes] | None = None

    @property
    def logs(self) -> list[Path]:
        """What the guest and its daemons said."""
        named = ("containerd", "kubelet", "commands", "forward", "import")
        files = [self.folder / "console", self.folder / "qemu"]
        return [*files, *(self.share / f"{name}.log" for name in named)]

    def boot(self) -> None:
        """Start the machine and wait until it can run commands; GuestHungError if it doesn't."""
        self.lay_out()
        with (self.folder / "qemu").open("wb") as said:
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *self.arguments()],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "PATH": SEARCH_PATH},
            )
        deadline = time.monotonic() + BOOT_SECONDS
        while not ((self.share / "booted").exists() and self._answers()):
            if self._qemu.poll() is not None or time.monotonic() > deadline:
                raise GuestHungError(f"{self.name} did not come up\n{self._tail()}")
            time.sleep(0.1)

    @property
    def on(self) -> bool:
        """Whether it was booted and not switched off."""
        return self._qemu is not None

    def stop(self) -> None:
        """Switch it off; a second time does nothing."""
        qemu, self._qemu = self._qemu, None
        if qemu is not None:
            qemu.kill()
            qemu.wait(60)

    def run(self, command: str, *, seconds: float = 60, check: bool = True) -> str:
        """What a shell in the guest says, as root, to both outputs.

        CommandError if the command fails, unless `check` is off, or isn't done in `seconds`.
        """
        try:
            answer = self._ask(command, seconds)
        except (OSError, ValueError) as error:
            self.check_alive()
            raise CommandError(f"{command!r} in {self.name}: {error}") from error
        if check and answer["code"] != 0:
            said = answer["said"]
            raise CommandError(f"{command!r} in {self.name}: {answer['code']}: {said}")
        return str(answer["said"])

    def read(self, path: str) -> str:
        """A file of the guest, without the white space around it."""
        return self.run(f"cat {shlex.quote(path)}").strip()

    def check_alive(self) -> None:
        """GuestHungError unless the guest goes on; only one that is silent takes hung_seconds.

        One that was switched off is well.
        """
        if not self.on:
            return
        before = self._beat()
        deadline = time.monotonic() + self.hung_seconds
        while self._qemu is not None and self._qemu.poll() is None:
            if self._beat() != before:
                return
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        raise GuestHungError(f"{self.name} hangs, last heard of at {before}\n{self._tail()}")

    @property
    def stuck(self) -> int:
        """How often its kernel has said since it was booted that a CPU stood still.

        It says so after about 20 seconds, in which none of what runs there is well.
        https://docs.kernel.org/admin-guide/lockup-watchdogs.html
        """
        console = self.folder / "console"
        text = console.read_text(errors="replace") if console.exists() else ""
        return text.count("soft lockup - CPU")

    def _answers(self) -> bool:
        """Whether it runs commands; QEMU takes connections before anybody in the guest does."""
        try:
            return bool(self._ask("true", 5)["code"] == 0)
        except (OSError, ValueError):
            return False

    def _beat(self) -> str:
        beat = self.share / "beat"
        return beat.read_text() if beat.exists() else ""

    def _tail(self) -> str:
        files = [self.folder / name for name in ("console", "qemu")]
        texts = [path.read_text(errors="replace") for path in files if path.exists()]
        return "\n".join(text[-2000:] for text in texts)

    def _ask(self, command: str, seconds: float) -> dict[str, Any]:
        asked = {"token": self.token, "command": command, "seconds": seconds}
        address = (self.name, COMMAND_PORT)
        with (
            socket.create_connection(address, timeout=seconds + self.hung_seconds) as connection,
            connection.makefile("rw") as stream,
        ):
            stream.write(json.dumps(asked) + "\n")
            stream.flush()
            answer: dict[str, Any] = json.loads(stream.readline())
            return answer
