"""Runs a command as root in a real Linux kernel on a NUMA machine of one's choice (QEMU).

The guest sees the host's files (the checkout, the virtual environment, everything) where the host
has them, except that /tmp and /run start empty; what it writes is gone with it. Its cgroups are as
on a node: v2 with cpuset, cpu and memory handed down from the root, or the cpuset controller of
v1 at /sys/fs/cgroup/cpuset.

To add a scenario:

1. Write `tests/vm/scripts/<name>.py`: it does in the guest what is to be tried, as root and
   free to break things, and prints one JSON value. What it prints to stderr is shown on failure.
   It gets arguments, and reads the folders below /tmp that the test names with `visible`.
2. In a test module, boot the machine that it needs once, and assert in as many tests as it takes:

       MACHINE = Machine(nodes=(Node(cpus=range(4)), Node(cpus=range(4, 8))), threads=2)

       @pytest.fixture(scope="module")
       def seen(guest: RunScript) -> Any:
           return guest(MACHINE, "<name>", "an argument").json()

       @pytest.mark.vm
       def test_the_second_node_has_four_cpus(seen: Any) -> None:
           assert seen["cpulist"]["node1"] == "4-7"

Without KVM a boot takes about four seconds and starting Python two more, so one boot should answer
many questions. Everything waits with a limit, and QEMU is ended whatever happens. A guest that
doesn't come up (emulation isn't perfect) is booted a second time; a script that fails, or takes
too long, is not.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from tests.vm.kernel import SEARCH_PATH, Kernel
from tests.vm.machine import Machine, Node, machine_arguments

CHECKOUT = Path(__file__).resolve().parents[2]

SHARE = Path("/run/share")
"""Where the guest has the one folder that it shares with the host for reading and writing."""

FRESH = (Path("/tmp"), Path("/run"), Path("/dev"), Path("/proc"), Path("/sys"))
"""The folders over which init.sh mounts something new, so that the host's content is hidden."""

POLL_SECONDS = 0.05

CGROUP_V2 = """\
mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
echo '+cpuset +cpu +memory' >/new/sys/fs/cgroup/cgroup.subtree_control
"""

CGROUP_V1 = """\
mount -t tmpfs tmpfs /new/sys/fs/cgroup
mkdir /new/sys/fs/cgroup/cpuset
mount -t cgroup -o cpuset cpuset /new/sys/fs/cgroup/cpuset
"""

EMULATE = "tcg,thread=single"
"""One thread for all CPUs. With one thread each (thread=multi), a CPU of QEMU 7.2 now and then
keeps executing a breakpoint that the kernel has long patched away, and never comes up; and eight
CPUs on a host with two are more than twice as slow."""

KERNEL_PARAMETERS = "console=ttyS0 panic=-1 mitigations=off"
"""A panic ends the machine at once. Nobody attacks its CPU; mitigations take a quarter of the
time."""


class GuestError(Exception):
    """The guest gave no result; the message has its console, or what QEMU said."""


class BootError(GuestError):
    """The guest did not come up to where it would have started the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestResult:
    """How a command in a guest ended, what it wrote, and how long boot and all of it took."""

    exit_code: int
    stdout: str
    stderr: str
    console: str
    boot_seconds: float
    wall_seconds: float

    def json(self) -> Any:
        """The JSON value that the command wrote to stdout; GuestError if it failed."""
        if self.exit_code != 0:
            raise GuestError(f"exit code {self.exit_code}\n{self.stderr}\n{self.console[-2000:]}")
        return json.loads(self.stdout)


class RunScript(Protocol):
    """What the fixture `guest` is: `run_script` with the kernel given."""

    def __call__(
        self,
        machine: Machine,
        script: str,
        *arguments: str,
        visible: Sequence[Path] = (),
        timeout: float = 60,
    ) -> GuestResult:
        """The result of tests/vm/scripts/<script>.py, as `run_script` says."""
        ...


def run_script(
    kernel: Kernel,
    machine: Machine,
    script: str,
    *arguments: str,
    visible: Sequence[Path] = (),
    timeout: float = 60,
) -> GuestResult:
    """The result of tests/vm/scripts/<script>.py, run by this interpreter as `run` runs it."""
    interpreter = Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name
    command = [str(interpreter), "-m", f"tests.vm.scripts.{script}", *arguments]
    return run(kernel, machine, command, visible=visible, timeout=timeout)


def run(
    kernel: Kernel,
    machine: Machine,
    command: Sequence[str],
    *,
    visible: Sequence[Path] = (),
    timeout: float = 60,
    boot_timeout: float = 60,
) -> GuestResult:
    """The result of `command`, run as root in the checkout of a freshly booted `machine`.

    Folders of the host below /tmp or /run are there, read-only, if `visible` names them. Raises
    BootError if the machine twice does not come up in `boot_timeout` seconds (of which it takes
    four, the rest is for a busy host), and GuestError if QEMU refuses the machine or the command
    has not ended after `timeout` seconds.
    """
    boot = partial(
        _run_once,
        machine=machine,
        files={"setup": _setup(machine, visible), "start": _start(command)},
        accelerator=_accelerator(kernel),
        timeout=timeout,
        boot_timeout=boot_timeout,
    )
    try:
        return boot(kernel)
    except BootError:
        return boot(kernel)


def _accelerator(kernel: Kernel) -> str:
    """KVM where it is there and a guest comes up with it, which some virtual machines only feign.

    The answer is kept beside the kernel, since a trial that fails takes its whole limit.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return EMULATE
    answer = kernel.folder / "accelerator"
    if not _text(answer):
        answer.write_text("kvm" if _comes_up_with_kvm(kernel) else EMULATE)
    return _text(answer)


def _comes_up_with_kvm(kernel: Kernel) -> bool:
    machine = Machine(nodes=(Node(cpus=range(2)),))
    files = {"setup": _setup(machine, ()), "start": _start(["true"])}
    try:
        _run_once(
            kernel, machine=machine, files=files, accelerator="kvm", timeout=5, boot_timeout=5
        )
    except GuestError:
        return False
    return True


def _run_once(
    kernel: Kernel,
    *,
    machine: Machine,
    files: Mapping[str, str],
    accelerator: str,
    timeout: float,
    boot_timeout: float,
) -> GuestResult:
    with TemporaryDirectory(prefix="numa-agent-vm-") as name:
        folder = Path(name)
        share = folder / "share"
        share.mkdir()
        for file, text in files.items():
            (share / file).write_text(text)
        started = time.monotonic()
        with _qemu(folder, _arguments(kernel, machine, folder, accelerator)) as qemu:
            if not _appears(share / "booted", qemu, boot_timeout):
                raise _boot_error(folder, qemu)
            booted = time.monotonic()
            if not _appears(share / "exit_code", qemu, timeout):
                raise GuestError(_no_end(folder, qemu, timeout))
        return GuestResult(
            exit_code=int(_text(share / "exit_code")),
            stdout=_text(share / "stdout"),
            stderr=_text(share / "stderr"),
            console=_text(folder / "console"),
            boot_seconds=booted - started,
            wall_seconds=time.monotonic() - started,
        )


@contextmanager
def _qemu(folder: Path, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU as a process that ends with this block, or with this process."""
    command = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *arguments]
    with (folder / "qemu").open("wb") as said:
        qemu = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "PATH": SEARCH_PATH},
        )
        try:
            yield qemu
        finally:
            qemu.kill()
            qemu.wait(timeout=60)


def _appears(path: Path, qemu: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether `path` comes to be within `seconds` and before QEMU ends."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and qemu.poll() is None:
        if path.exists():
            return True
        time.sleep(POLL_SECONDS)
    return path.exists()


def _boot_error(folder: Path, qemu: subprocess.Popen[bytes]) -> GuestError:
    if qemu.poll():
        return GuestError(f"QEMU ended with {qemu.returncode}: {_text(folder / 'qemu')}")
    ended = "panicked" if qemu.returncode == 0 else "hung"
    return BootError(f"the guest {ended} while booting:\n{_text(folder / 'console')[-4000:]}")


def _no_end(folder: Path, qemu: subprocess.Popen[bytes], seconds: float) -> str:
    """Why there is no exit code, and what there is instead."""
    why = f"no end after {seconds} s" if qemu.poll() is None else "the machine went down"
    parts = [why, *(_text(folder / name) for name in ("share/stdout", "share/stderr"))]
    return "\n".join([*parts, _text(folder / "console")[-4000:]])


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _setup(machine: Machine, visible: Sequence[Path]) -> str:
    """What init.sh does for this machine and this checkout before it leaves the initramfs."""
    lines = [CGROUP_V1 if machine.cgroup == "v1" else CGROUP_V2]
    for path in _hidden([CHECKOUT, Path(sys.prefix), Path(sys.base_prefix), *visible]):
        hidden, shown = shlex.quote(f"/host{path}"), shlex.quote(f"/new{path}")
        lines.append(f"mkdir -p {shown}\nmount -o bind {hidden} {shown}\n")
    return "".join(lines)


def _hidden(paths: Sequence[Path]) -> list[Path]:
    """Those of `paths`, links resolved, that lie below a folder which is new in the guest."""
    real = dict.fromkeys(path.resolve() for path in paths)
    return [path for path in real if any(path.is_relative_to(fresh) for fresh in FRESH)]


def _start(command: Sequence[str]) -> str:
    """The script that runs `command` in the guest and leaves what it gave in the share."""
    busybox = shutil.which("busybox", path=SEARCH_PATH)
    return f"""\
export HOME=/root PATH={shlex.quote(SEARCH_PATH)} LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
cd {shlex.quote(str(CHECKOUT))}
: >{SHARE}/booted
{shlex.join(command)} >{SHARE}/stdout 2>{SHARE}/stderr </dev/null
echo $? >{SHARE}/written
mv {SHARE}/written {SHARE}/exit_code
{busybox} poweroff -f
"""


def _arguments(kernel: Kernel, machine: Machine, folder: Path, accelerator: str) -> list[str]:
    """What to tell QEMU: https://www.qemu.org/docs/master/system/invocation.html."""
    share = folder / "share"
    return [
        *("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *("-accel", accelerator),
        *("-kernel", str(kernel.image), "-initrd", str(kernel.initramfs)),
        *("-append", KERNEL_PARAMETERS),
        *("-serial", f"file:{folder / 'console'}"),
        *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
        *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host,bus=pcie.0"),
        *("-fsdev", f"local,id=share,path={share},security_model=none"),
        *("-device", "virtio-9p-pci,fsdev=share,mount_tag=share,bus=pcie.0"),
        *machine_arguments(machine),
    ]
