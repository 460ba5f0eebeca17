"""The agent as it runs on a node: passes without end, what happens between them, who is told."""

import os
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from numa_agent.agent import Binder, Mover, Ports, Sending, run_forever
from numa_agent.config import KUBELET_DIR, Config
from numa_agent.config.reload import Reload
from numa_agent.core.cpusets import Step
from numa_agent.core.errors import SourceError
from numa_agent.core.pods import Pod
from numa_agent.host.cgroups import CpusetTree
from numa_agent.host.recorded import RecordedKernel, is_recorded
from numa_agent.serve.board import Board
from numa_agent.wiring import serving
from numa_agent.wiring.errands import Errands
from numa_agent.wiring.gpu_beside import with_gpu_plugin
from numa_agent.wiring.heap import giving_back
from numa_agent.wiring.lock import only_one
from numa_agent.wiring.map import asking_nvml
from numa_agent.wiring.passes import cgroup_root, ports_of, reaching, with_settings
from numa_agent.wiring.serving import Tell
from numa_agent.wiring.settings import Following
from numa_agent.wiring.sources import node_name
from numa_agent.wiring.waiting import Waiting
from numa_agent.wiring.watching import CgroupWatch

if TYPE_CHECKING:
    from numa_agent.cluster.watch import PodWatch


def run_on(reload: Reload, tell: Tell, say: Callable[[str], None]) -> None:
    """Take passes over the machine until SIGTERM or SIGINT, and bind between them.

    `tell` hears of passes, `say` of changes of the configuration's file. Raises SourceError where
    another agent runs on the node, or something that is needed can't be started.
    """
    config = reload.config
    threading.excepthook = end_process
    board = Board(period=config.pass_seconds * 1.5, scheduler=config.scheduler)
    with ExitStack() as stack:
        waiting = stack.enter_context(Waiting())
        waiting.end_at_signals()
        if not is_recorded(config.host_root):
            node_name(config)
            stack.enter_context(only_one(config.lock_path))
        serving.start(config, board, stack)
        _Daemon(Following(reload, board, say), waiting, board, stack, say).run(tell)


def end_process(error: threading.ExceptHookArgs) -> None:
    """End with a message: kubelet starts a process again, a thread that died nobody does."""
    try:
        threading.__excepthook__(error)
    finally:
        # Where the message can't be written, too.
        os._exit(70)


class _Daemon:
    """Everything that runs, put together; it ends with the stack."""

    def __init__(
        self,
        following: Following,
        waiting: Waiting,
        board: Board,
        stack: ExitStack,
        say: Callable[[str], None],
    ) -> None:
        config = following.config()
        self._following = following
        self._waiting = waiting
        self._board = board
        self._stack = stack
        ask = stack.enter_context(asking_nvml(config))
        cluster = stack.enter_context(reaching(config))
        # A hierarchy of its own: what one thread has open is no other's.
        tree = CpusetTree(config.host_root, lambda: cgroup_root(self._ports.sources))
        watch = CgroupWatch(tree, config.host_root / KUBELET_DIR, waiting.wake)
        stack.callback(watch.close)
        self._pods = None if cluster is None else _pod_watch(config, tree, waiting, stack)
        ports = ports_of(config, ask, cluster, None, self._pods, following.config)
        self._ports = replace(
            ports,
            damaged=_and_degraded(ports.damaged, watch),
            publish=serving.counted(ports.publish, board),
            mover=_mover(config, ports, stack),
        )
        if config.gpu_plugin and cluster is not None:
            self._ports = with_gpu_plugin(self._ports, config, self._news, say, stack)
        self._binder = Binder(
            ports.cpusets,
            watch,
            ports.drift,
            ports.clock,
            ports.sources.cpu_state.read,
            self._news,
            ports.memory,
        )

    def run(self, tell: Tell) -> None:
        """Go on until it is time to end."""
        run_forever(
            self._ports,
            tell=giving_back(serving.told(self._board, tell)),
            wait=self._wait,
            random=random.random,
            binder=self._binder,
            sender=self._send_for,
            renewed=self._renewed,
        )

    def _wait(self, seconds: float) -> bool:
        ends = self._waiting(self._following.patience(seconds))
        self._board.beat()
        return ends

    def _renewed(self, ports: Ports) -> Ports | None:
        if not self._following.look():
            return None
        return with_settings(ports, self._following.config())

    def _send_for(self, sending: Sequence[Sending]) -> Callable[[], None]:
        errands = Errands(sending)
        self._stack.callback(errands.close)
        return errands.poke

    def _news(self) -> tuple[tuple[Pod, ...], tuple[str, ...]] | None:
        """The pods that the API server told of, without asking it."""
        if self._pods is None:
            return None
        try:
            read = self._pods.pods()
        except SourceError:
            return None
        return read.pods, self._following.config().trusted_managers


def _pod_watch(config: Config, tree: CpusetTree, waiting: Waiting, stack: ExitStack) -> "PodWatch":
    # With the client library, which only a live machine needs.
    from numa_agent.cluster.watch import watch_pods

    def running() -> frozenset[str] | None:
        try:
            return frozenset(tree.pod_directories())
        except SourceError:
            return None

    watch = watch_pods(config.kubeconfig, node_name(config), wake=waiting.wake, running=running)
    stack.callback(watch.close)
    return watch


def _mover(config: Config, ports: Ports, stack: ExitStack) -> Mover | None:
    """What moves pods' pages, with a hierarchy of its own: a thread uses no other's."""
    if config.mems != "migrate":
        return None
    put = RecordedKernel(config.host_root).put if is_recorded(config.host_root) else None
    tree = CpusetTree(config.host_root, lambda: cgroup_root(ports.sources), put)

    def write(step: Step) -> None:
        # Only what was found may be written.
        tree.parents()
        tree.write(step.path, step.file, step.after)

    mover = Mover(write)
    stack.callback(mover.close)
    return mover


def _and_degraded(
    damaged: Callable[[], Iterable[str]], watch: CgroupWatch
) -> Callable[[], Iterable[str]]:
    """What couldn't be read, and why not everything can be followed."""
    return lambda: [*damaged(), *([watch.degraded] if watch.degraded else [])]
