"""Everything that scenarios run on, from nothing, and what a failed one leaves."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Self

from numa_agent import __version__
from tests.apiserver.control_plane import NODE_PROGRAMS, PROGRAMS, build
from tests.e2e.bench import evidence, kernel, overlay
from tests.e2e.bench.cgroups import LAYOUT, Layout
from tests.e2e.bench.control_plane import ControlPlane
from tests.e2e.bench.guest import Guest, GuestHungError, free_address
from tests.e2e.bench.images import Build
from tests.e2e.bench.kubelet import Policy
from tests.e2e.bench.node_files import MACHINE
from tests.e2e.cluster import NAMESPACE, Cluster, condition
from tests.vm.guest import CHECKOUT
from tests.vm.machine import Machine

CACHE = CHECKOUT / ".cache"
RUNS = CACHE / "e2e" / "runs"
KEEP_RUNS = 3


class Bench:
    """A control plane, `nodes` guests and the agent on each, while the `with` block does.

    `overlay` is one of manifests/overlays, `policy` kubelet's, `layout` how it has its cgroups,
    `settings` are lines of the agent's beside the overlay's.
    `seconds` has how long each phase took, `folder` the logs: it stays, as do those of the
    last KEEP_RUNS benches, and of all in which something failed in this run of the tests.
    `reboots` counts the guests that hung. A node that needs more than a machine and its policy
    has a class of its own, with `prepare`.
    """

    cluster: Cluster
    control_plane = ControlPlane
    """The class of it, for those who need another."""

    def __init__(
        self,
        overlay: str = "kube-scheduler",
        policy: Policy = "none",
        machine: Machine = MACHINE,
        nodes: int = 1,
        settings: str = "",
        layout: Layout = LAYOUT,
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.reboots = 0
        self.failed: list[Path] = []
        self.folder = RUNS / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        self._overlay = overlay
        self._policy = policy
        self._machine = machine
        self._nodes = nodes
        self._boots: dict[str, str] = {}
        self._settings = settings
        self._layout = layout
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        self._lock()
        self.folder.mkdir(parents=True)
        for old in sorted(RUNS.iterdir())[:-KEEP_RUNS]:
            # What failed earlier in this run of the tests is still to be read.
            if not (old.name.endswith(f"-{os.getpid()}") and (old / "failed").exists()):
                shutil.rmtree(old, ignore_errors=True)
        try:
            self._start()
        except BaseException:
            self.leave_evidence("setup")
            self._ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self.phase("end"):
            self._ends.close()

    def _lock(self) -> None:
        """Keep a second run off this checkout's cache; the lock ends with this process."""
        RUNS.mkdir(parents=True, exist_ok=True)
        held = self._ends.enter_context((CACHE / "e2e" / "lock").open("w"))
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError("another run of these scenarios is on in this checkout") from error

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a block and keep the figure under that name."""
        began = time.monotonic()
        try:
            yield
        finally:
            while name in self.seconds:
                name += " again"
            self.seconds[name] = round(time.monotonic() - began, 1)

    def _start(self) -> None:
        with self.phase("programs and kernel"):
            programs = build({**PROGRAMS, **NODE_PROGRAMS})
            booted = kernel.ready(CACHE)
        self._image = Build(CACHE / "e2e")
        self._ends.callback(self._image.stop)
        names = [free_address() for _ in range(self._nodes)]
        with self.phase("control plane"):
            plane = self._ends.enter_context(self.control_plane(programs, names))
        guests = [
            Guest(
                name=name,
                folder=self.folder / ("guest" if name == names[0] else f"guest-{name}"),
                kernel=booted,
                plane=plane,
                programs=programs,
                policy=self._policy,
                machine=self._machine,
                layout=self._layout,
            )
            for name in names
        ]
        self.cluster = Cluster(plane, programs, guests)
        try:
            self._bring_up()
        except GuestHungError:
            self.boot_again()

    def _bring_up(self) -> None:
        """Boot the guests that are off and bring the agent onto them; twice does no harm."""
        each_node = self.cluster.each_node()
        off = [cluster for cluster in each_node if not cluster.node.on]
        with self.phase("boot"):
            self._since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            for cluster in off:
                self._ends.callback(cluster.node.stop)
                cluster.node.boot()
                boot = cluster.node.read("/proc/sys/kernel/random/boot_id")
                self._boots[cluster.node.name] = boot
        with self.phase("agent's image"):
            archive = self._image.archive()
        with self.phase("image imported"):
            for cluster in off:
                self._import(cluster, archive)
        with self.phase("node ready"):
            for cluster in off:
                cluster.until("the node is ready", partial(self._node_is_ready, cluster))
        with self.phase("agent ready"):
            self.prepare()
            self.deploy()
            for cluster in off:
                ready = partial(self.has_agent, cluster)
                cluster.until("the agent is ready", ready, seconds=180)

    def _import(self, cluster: Cluster, archive: Path) -> None:
        guest = cluster.node
        # It learns once, when it starts, what is mounted from its disk: an image that is unpacked
        # just then is for good taken for that, and nothing is ever evicted.
        well = "busybox wget -qO- http://127.0.0.1:10248/healthz"
        cluster.until("kubelet started", lambda: guest.run(well, check=False) == "ok")
        if not guest.archives:
            shutil.copy(archive, guest.share / "agent.tar")
            guest.run("ctr -n k8s.io images import /run/share/agent.tar", seconds=150)
            # From now on it has the image when it boots, as a node has on its disk.
            guest.archives = (archive,)

    def boot_again(self) -> None:
        """Boot a guest that hung once more, until it is as before any scenario.

        GuestHungError if that was done already.
        """
        if self.reboots:
            raise GuestHungError("a guest hung for the second time")
        self.reboots += 1
        self.cluster.clean(force=True)
        self.reboot("hung-guest")
        # The object of before stays until the agent has written it anew.
        self.cluster.until("every CPU is available", self.cluster.idle)

    def stuck(self) -> int:
        """How often a CPU of a guest stood still, by its kernel's word."""
        return sum(guest.stuck for guest in self.cluster.guests)

    def reboot(self, name: str) -> None:
        """Switch all guests off and boot them anew, with empty disks; logs stay in `name`."""
        for guest in self.cluster.guests:
            guest.stop()
        self.switch_on(name)

    def switch_on(self, name: str) -> None:
        """Boot the guests that are off, as `reboot` does."""
        for guest in self.cluster.guests:
            if not guest.on and guest.folder.exists():
                kept = self.folder / name / guest.folder.name
                kept.parent.mkdir(exist_ok=True)
                guest.folder.rename(kept)
        self._bring_up()

    def _node_is_ready(self, cluster: Cluster) -> bool:
        """Whether the node is, since this boot: until it is back, the old status stays."""
        node = cluster.find(f"/api/v1/nodes/{cluster.node.name}") or {}
        told = node.get("status", {}).get("nodeInfo", {}).get("bootID")
        return told == self._boots[cluster.node.name] and condition(node, "Ready") == "True"

    def prepare(self) -> None:
        """Bring onto the node that is ready what else a user has there before the agent comes."""

    def own_overlay(
        self,
        name: str = "own",
        *,
        manifests: Path = CHECKOUT / "manifests",
        tag: str = __version__,
        components: Sequence[str] = (),
    ) -> Path:
        """The folder of the user's own overlay; `manifests` and `tag` may be another version's."""
        own = self.folder / name
        overlay.write(
            own,
            manifests,
            self._overlay,
            tag,
            components=components,
            settings=self._settings,
        )
        return own

    def deploy(self) -> None:
        """As docs/install.md says: the definition, then an overlay that names the image."""
        self.cluster.kubectl("apply", "-f", str(CHECKOUT / "manifests" / "crd"))
        self.cluster.kubectl("apply", "-k", str(self.own_overlay()))

    def has_agent(self, cluster: Cluster | None = None) -> bool:
        """Whether the agent of the cluster's node is ready, in a container of this boot."""
        cluster = cluster or self.cluster
        return self._node_is_ready(cluster) and any(
            cluster.ready(name, NAMESPACE) and cluster.started(name, NAMESPACE) >= self._since
            for name in cluster.agents()
        )

    def leave_evidence(self, name: str) -> None:
        """Keep in a folder of that name what tells why a scenario failed.

        The guest's console, the daemons' logs, the agent's, the recorded machine and our objects.
        """
        target = self.folder / "failed" / name
        target.mkdir(parents=True, exist_ok=True)
        self.failed.append(target)
        if hasattr(self, "cluster"):
            evidence.leave(self.cluster, target)
