"""What makes a guest a node: the files that it reads when it boots, and what QEMU is told."""

import json
import secrets
import shlex
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.bench.cgroups import EVERY_CONTROLLER, LAYOUT, Layout
from tests.e2e.bench.control_plane import HOST, SERVICE, ControlPlane
from tests.e2e.bench.images import write_local
from tests.e2e.bench.kernel import Kernel
from tests.e2e.bench.kubelet import Policy, configuration
from tests.vm.guest import CGROUP_V2, CHECKOUT, EMULATE, FRESH, KERNEL_PARAMETERS
from tests.vm.kernel import SEARCH_PATH
from tests.vm.machine import Machine, Node, machine_arguments

MACHINE = Machine(
    nodes=(
        Node(cpus=range(4), memory_mib=2048),
        Node(cpus=range(4, 8), memory_mib=2048),
    ),
    threads=2,
    distances=((10, 21), (21, 10)),
)

KUBELET_PORT = 10250
COMMAND_PORT = 7022
PORTS = (KUBELET_PORT, COMMAND_PORT)

INSIDE = Path(__file__).with_name("inside")

OWN_FILE_SYSTEMS = (
    "/etc/cni",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log",
)
"""Folders that start empty; containerd's snapshots can't be on an overlay."""


@dataclass(kw_only=True)
class NodeFiles:
    """A node to be: its machine, its kubelet's policy, and the folder of its files and logs.

    It has the images of `archives` before its kubelet starts.
    """

    name: str
    folder: Path
    kernel: Kernel
    plane: ControlPlane
    programs: Path
    policy: Policy = "none"
    machine: Machine = MACHINE
    layout: Layout = LAYOUT
    archives: tuple[Path, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    @property
    def share(self) -> Path:
        """The folder that the guest has at /run/share, for reading and writing."""
        return self.folder / "share"

    def lay_out(self) -> None:
        """Make the folder anew with all that the guest reads from it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.share.mkdir(parents=True)
        for file in INSIDE.iterdir():
            shutil.copy(file, self.share)
        write_local(self.share / "local.tar")
        for archive in self.archives:
            shutil.copy(archive, self.share)
        shutil.copy(self.plane.ca_file, self.share / "ca.crt")
        texts = {
            "setup": self._setup(),
            "start": f"{self._variables()}\n{(INSIDE / 'node.sh').read_text()}",
            "token": self.token,
            "kubeconfig": self.plane.node_kubeconfig(self.name),
            "config.yaml": json.dumps(configuration(self.policy, self.layout)),
        }
        if self.layout.driver == "systemd":
            settings = (INSIDE / "containerd.toml").read_text()
            texts["containerd.toml"] = settings.replace("Cgroup = false", "Cgroup = true")
        for name, text in texts.items():
            (self.share / name).write_text(text)

    def _setup(self) -> str:
        """What init.sh does before it leaves the initramfs."""
        empty = "mkdir -p /new{0}\nmount -t tmpfs tmpfs /new{0}\n"
        cgroups = EVERY_CONTROLLER if self.layout.version == "v1" else CGROUP_V2
        lines = [cgroups, *map(empty.format, OWN_FILE_SYSTEMS)]
        for path in (CHECKOUT, self.programs, Path(sys.prefix), Path(sys.base_prefix)):
            real = path.resolve()
            if any(real.is_relative_to(fresh) for fresh in FRESH):
                shown = shlex.quote(f"/new{real}")
                lines.append(
                    f"mkdir -p {shown}\nmount -o bind {shlex.quote(f'/host{real}')} {shown}\n"
                )
        return "".join(lines)

    def _variables(self) -> str:
        values = {
            "NODE": self.name,
            "DRIVER": self.layout.driver,
            "HOST": HOST,
            "SERVICE": SERVICE,
            "PORT": self.plane.port,
            "NOW": int(time.time()),
            "MACHINE_ID": secrets.token_hex(16),
            "PROGRAMS": self.programs.resolve(),
            "PYTHON": Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name,
            "BUSYBOX": shutil.which("busybox", path=SEARCH_PATH),
            "PATH": SEARCH_PATH,
        }
        lines = [f"{name}={shlex.quote(str(value))}" for name, value in values.items()]
        return "\n".join([*lines, "export PATH"])

    def arguments(self) -> list[str]:
        """What to tell QEMU: https://www.qemu.org/docs/master/system/invocation.html."""
        forwards = (f"hostfwd=tcp:{self.name}:{port}-:{port}" for port in PORTS)
        return [
            *("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
            *("-accel", EMULATE),
            *("-kernel", str(self.kernel.image), "-initrd", str(self.kernel.initramfs)),
            *("-append", KERNEL_PARAMETERS),
            *("-serial", f"file:{self.folder / 'console'}"),
            *("-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", "virtio-9p-pci,fsdev=host,mount_tag=host,bus=pcie.0"),
            *("-fsdev", f"local,id=share,path={self.share},security_model=none"),
            *("-device", "virtio-9p-pci,fsdev=share,mount_tag=share,bus=pcie.0"),
            *("-netdev", ",".join(["user,id=net", *forwards])),
            *("-device", "virtio-net-pci,netdev=net,romfile=,bus=pcie.0"),
            *machine_arguments(self.machine),
        ]
