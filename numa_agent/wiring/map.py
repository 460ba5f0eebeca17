"""The machine's map, from its files, NVML and the operator's overrides."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numa_agent.config import Config, read_overrides
from numa_agent.core.assembly import assemble
from numa_agent.core.devices import GUEST_DRIVERS, NVIDIA, DeviceKind, device_kind
from numa_agent.core.errors import SourceError
from numa_agent.core.facts import PciFacts
from numa_agent.core.nvml import NvmlAnswers, NvmlCondition
from numa_agent.core.overrides import Overrides
from numa_agent.core.topology import Topology
from numa_agent.host.recorded import is_recorded
from numa_agent.host.sysfs import read_facts
from numa_agent.wiring.asking import Patient, done_within

CLOSE_SECONDS = 0.3
"""For the driver to let go at the end."""

_HANGS = (
    "NVML hasn't answered yet, and GPUs are told by sysfs alone until it does: the driver starts"
    " GPUs, which takes long without persistence mode, or hangs; look for NVRM in the kernel's log"
)

AskNvml = Callable[[bool], NvmlAnswers | None]
"""Asks NVML, told whether GPUs are expected; None where there is nobody to ask."""


def read_map(config: Config) -> Topology:
    """The map of the machine that the configuration names, with what NVML adds where it may ask.

    Raises SourceError when the host root can't be opened, ConfigError for unusable settings.
    """
    with asking_nvml(config) as ask:
        return assembled(config, ask, read_overrides(config.locality_overrides))


def assembled(config: Config, ask: AskNvml, overrides: Overrides) -> Topology:
    """The map as it is now. Raises SourceError when the host root can't be opened."""
    facts = read_facts(config.host_root)
    nvml = ask(any(_is_nvidia_gpu(device) for device in facts.pci))
    return assemble(facts, nvml=nvml, overrides=overrides)


def _is_nvidia_gpu(device: PciFacts) -> bool:
    """Whether NVML should know a device: one of NVIDIA's that isn't given away to a guest."""
    kind = device_kind(device.class_code, device.vendor, device.device)
    given_away = device.driver in GUEST_DRIVERS or device.physical_function is not None
    return device.vendor == NVIDIA and kind in {DeviceKind.GPU, None} and not given_away


@contextmanager
def asking_nvml(config: Config) -> Iterator[AskNvml]:
    """What asks NVML, recorded or live, open as long as it is needed; a bare folder has none."""
    if config.nvml == "off":
        yield lambda _: None
        return
    # The reader of NVML is loaded only where there is something to ask.
    if is_recorded(config.host_root):
        from numa_agent.host.nvml import read_recorded

        yield lambda expected: read_recorded(config.host_root, expected=expected)
        return
    if not config.live:
        yield lambda _: None
        return
    from numa_agent.host.nvml import live_session

    session = live_session(config.nvml, config.host_root)
    try:
        yield lambda expected: session.answers(expected=expected)
    finally:
        # A driver that hangs mustn't keep the process from its end.
        done_within("nvml-close", session.close, CLOSE_SECONDS)


def patient(ask: AskNvml, seconds: float) -> AskNvml:
    """What waits for NVML for so many seconds at most, and says so in a condition.

    A call into a driver that hangs can't be ended. It is waited for beside the passes, and no
    other is made meanwhile; what it says late is what it would say then.
    """
    expecting = [False]
    read = Patient("NVML", lambda: ask(expecting[0]), seconds=seconds, late=True)

    def answer(expected: bool) -> NvmlAnswers | None:
        expecting[0] = expected
        try:
            return read()
        except SourceError:
            condition = NvmlCondition(code="nvml-no-answer", message=_HANGS)
            return NvmlAnswers(
                driver_version=None, nvml_version=None, gpus=(), conditions=(condition,)
            )

    return answer
