"""All that NVML says of one GPU: each refused call costs its own fact.

https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from numa_agent.core.nvml import Fabric, MigInstance, NvLink, NvmlError, NvmlGpu
from numa_agent.host.nvml import calls as keys
from numa_agent.host.nvml.calls import CallError, Calls, Key

T = TypeVar("T")

_ABSENT = ("NotSupported", "FunctionNotFound")
"""What a call answers, whatever its argument, where the machine or the driver doesn't have it."""

_NO_FAULT = ("InvalidArgument", "NotFound")
"""What a list answers beyond its end and in its holes."""

_MOST_LINKS = 256
"""Where the links end if the driver refuses none; a GPU has 18 today, the header names 36."""

_ACTIVE = 1
_UNKNOWN_REMOTE = 255
_COMPLETED = 3
_SCOPE_NODE = 0


class GpuReader:
    """Asks for everything of one GPU, and keeps what was refused.

    `opened` is whether the driver gives a handle; without one, nothing is known and nothing more
    is asked.
    """

    def __init__(self, calls: Calls, index: int) -> None:
        self.index = index
        self.opened = True
        self._calls = calls
        self._errors: list[NvmlError] = []
        self._lost = False
        self._fact(keys.HANDLE)
        self.opened = not self._errors

    def read(self, opened: Sequence[int]) -> NvmlGpu:
        """The GPU as NVML shows it, and its way to the others of the GPUs that were opened."""
        others = [index for index in opened if index != self.index] if self.opened else []
        mode = self._fact(keys.MIG_MODE)
        return NvmlGpu(
            index=self.index,
            address=self._fact(keys.PCI),
            uuid=self._fact(keys.UUID),
            minor=self._fact(keys.MINOR_NUMBER),
            name=self._fact(keys.NAME),
            memory_bytes=self._fact(keys.MEMORY_BYTES),
            persistence=self._flag(keys.PERSISTENCE_MODE),
            memory_node=self._memory_node(),
            addressing_mode=self._fact(keys.ADDRESSING_MODE),
            c2c=self._flag(keys.C2C_ENABLED),
            memory_nodes=self._fact(keys.MEMORY_AFFINITY, _SCOPE_NODE),
            mig_mode=mode.current if mode else None,
            mig_pending=mode.pending if mode else None,
            mig=() if mode and not mode.current else self._instances(),
            nvlinks=self._links(),
            common_ancestors=self._peers(keys.COMMON_ANCESTOR, others),
            p2p={name: self._peers(key, others) for name, key in keys.P2P.items()},
            fabric=self._fabric(),
            # Python evaluates in this order: by now everything was asked.
            lost=self._lost,
            errors=tuple(self._errors),
        )

    def _fact(self, key: Key[T], argument: int | None = None) -> T | None:
        if not self.opened:
            return None
        try:
            return self._calls.ask(key, self.index, argument)
        except CallError as refusal:
            self._note(key, argument, refusal.error)
            self._lost |= refusal.error == "GpuIsLost"
            return None

    def _note(self, key: Key[T], argument: int | None, error: str) -> None:
        self._errors.append(NvmlError(call=key.name, argument=argument, error=error))

    def _flag(self, key: Key[int]) -> bool | None:
        value = self._fact(key)
        return None if value is None else bool(value)

    def _memory_node(self) -> int | None:
        node = self._fact(keys.NUMA_NODE_ID)
        return node if node is not None and node >= 0 else None

    def _fabric(self) -> Fabric | None:
        found = self._fact(keys.FABRIC)
        if found is None or found.state != _COMPLETED:
            return None
        if found.status != 0:
            self._note(keys.FABRIC, None, f"Code{found.status}")
            return None
        if not found.cluster_uuid.strip("0-"):
            return None
        return Fabric(cluster_uuid=found.cluster_uuid, clique_id=found.clique_id)

    def _instances(self) -> tuple[MigInstance, ...]:
        count = self._fact(keys.MIG_COUNT) or 0
        found = sorted(
            self._own_list(
                keys.MIG_DEVICE,
                range(count),
                lambda index: self._calls.ask(keys.MIG_DEVICE, self.index, index),
            )
        )
        uuids = self._of_instances(keys.UUID, found)
        names = self._of_instances(keys.NAME, found)
        gpu_instances = self._of_instances(keys.GPU_INSTANCE, found)
        compute_instances = self._of_instances(keys.COMPUTE_INSTANCE, found)
        sizes = self._of_instances(keys.MEMORY_BYTES, found)
        return tuple(
            MigInstance(
                uuid=uuids.get(index),
                profile=_profile(names.get(index)),
                gpu_instance=gpu_instances.get(index),
                compute_instance=compute_instances.get(index),
                memory_bytes=sizes.get(index),
            )
            for index in found
        )

    def _of_instances(self, key: Key[T], found: Sequence[int]) -> Mapping[int, T]:
        return self._own_list(
            key, found, lambda index: self._calls.ask(key, self.index, mig=index)
        )

    def _links(self) -> tuple[NvLink, ...]:
        active = self._active_links()
        versions = self._of_links(keys.NVLINK_VERSION, active)
        types = self._of_links(keys.NVLINK_REMOTE_TYPE, active)
        remotes = self._of_links(keys.NVLINK_REMOTE, active)
        return tuple(
            NvLink(
                link=link,
                version=versions.get(link),
                remote_type=None if types.get(link) == _UNKNOWN_REMOTE else types.get(link),
                remote=remotes.get(link),
            )
            for link in active
        )

    def _of_links(self, key: Key[T], links: Sequence[int]) -> Mapping[int, T]:
        return self._own_list(key, links, lambda link: self._calls.ask(key, self.index, link))

    def _active_links(self) -> list[int]:
        """The links that are up, asked one after another until the driver refuses one.

        The count that headers name has grown from 12 to 36, so that it bounds nothing.
        """
        states: dict[int, int] = {}
        refused: dict[int, str] = {}
        for link in range(_MOST_LINKS if self.opened else 0):
            try:
                states[link] = self._calls.ask(keys.NVLINK_STATE, self.index, link)
            except CallError as refusal:
                if refusal.error == "InvalidArgument" or (link and refusal.error in _ABSENT):
                    break
                refused[link] = refusal.error
                if refusal.error in (*_ABSENT, "GpuIsLost"):
                    break
        self._lost |= "GpuIsLost" in refused.values()
        self._note_each(keys.NVLINK_STATE, refused, len(states) + len(refused))
        return [link for link, state in states.items() if state == _ACTIVE]

    def _peers(self, key: Key[T], others: Sequence[int]) -> Mapping[int, T]:
        """What the driver says of the GPU and each other; an error may be the other's."""
        answers, refused = _ask_each(others, lambda other: self._calls.ask(key, self.index, other))
        self._note_each(key, refused, len(others))
        return answers

    def _own_list(
        self, key: Key[T], arguments: Sequence[int], ask: Callable[[int], T]
    ) -> Mapping[int, T]:
        answers, refused = _ask_each(arguments, ask)
        self._lost |= "GpuIsLost" in refused.values()
        self._note_each(key, refused, len(arguments))
        return answers

    def _note_each(self, key: Key[T], refused: Mapping[int, str], asked: int) -> None:
        """Note what arguments were refused with: once, without one, where all were alike."""
        names = set(refused.values())
        if len(refused) == asked and len(names) == 1 and (asked > 1 or names <= set(_ABSENT)):
            self._note(key, None, names.pop())
            return
        for argument, error in refused.items():
            self._note(key, argument, error)


def _ask_each(
    arguments: Sequence[int], ask: Callable[[int], T]
) -> tuple[dict[int, T], dict[int, str]]:
    """The answers by argument, and the errors; a list's end and its holes are neither."""
    answers: dict[int, T] = {}
    refused: dict[int, str] = {}
    for argument in arguments:
        try:
            answers[argument] = ask(argument)
        except CallError as refusal:
            if refusal.error not in _NO_FAULT:
                refused[argument] = refusal.error
    return answers, refused


def _profile(name: str | None) -> str | None:
    """The profile at the end of an instance's name, `1g.10gb` of `NVIDIA H100 MIG 1g.10gb`."""
    _, mark, profile = (name or "").rpartition(" MIG ")
    return profile if mark and profile else None
