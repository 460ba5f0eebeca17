"""kubectl, as a user has it."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.bench.control_plane import ControlPlane
from tests.e2e.bench.guest import Guest
from tests.vm.guest import CHECKOUT
from tests.vm.kernel import SEARCH_PATH


class KubectlError(AssertionError):
    """kubectl failed; the message has what it said."""


class Kubectl:
    """kubectl with an admin's rights in a cluster of these guests."""

    def __init__(self, plane: ControlPlane, programs: Path, guests: Sequence[Guest]) -> None:
        self.plane = plane
        self.guests = tuple(guests)
        self.node = guests[0]
        self._kubectl = [str(programs / "kubectl"), "--kubeconfig", str(plane.kubeconfig)]
        self._applied: list[tuple[str, str]] = []

    def kubectl(
        self, *words: str, data: object = None, seconds: float = 60, check: bool = True
    ) -> str:
        """What kubectl says to its standard output; `data` is JSON for its input."""
        return self.kubectl_bytes(*words, data=data, seconds=seconds, check=check).decode()

    def kubectl_bytes(
        self, *words: str, data: object = None, seconds: float = 60, check: bool = True
    ) -> bytes:
        """The same, undecoded."""
        done = self.done(*words, data=data, seconds=seconds)
        if check and done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace")
            raise KubectlError(f"kubectl {' '.join(words)}: {done.returncode}: {said}")
        return done.stdout

    def done(
        self, *words: str, data: object = None, seconds: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        """kubectl once it has ended; KubectlError if that isn't so in `seconds`."""
        text = b"" if data is None else json.dumps(data).encode()
        try:
            return subprocess.run(
                [*self._kubectl, *words], input=text, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired as error:
            self.check_alive()
            raise KubectlError(f"kubectl {' '.join(words)}: not done in {seconds} s") from error

    def shell(self, command: str, *, seconds: float = 240) -> str:
        """What a user's shell says to a command, run in the checkout with kubectl in its path."""
        program, _, config = self._kubectl
        path = f"{Path(program).parent}:{SEARCH_PATH}"
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            # kubectl keeps what it learned of a server in its home.
            env={"PATH": path, "KUBECONFIG": config, "HOME": str(Path(config).parent)},
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        if done.returncode:
            raise KubectlError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *words: str, log: Path) -> subprocess.Popen[bytes]:
        """kubectl that goes on, such as port-forward; whoever starts it ends it."""
        guard = ("setpriv", "--pdeathsig", "KILL")
        with log.open("wb") as said:
            return subprocess.Popen(
                [*guard, *self._kubectl, *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def check_alive(self) -> None:
        """GuestHungError unless every guest goes on."""
        for guest in self.guests:
            guest.check_alive()
