"""NVML's answers as a reading of it hears them, in the form of answers/nvml.json."""

from pathlib import Path
from typing import TypeVar

from numa_agent.core import cpulist
from numa_agent.core.documents import Document
from numa_agent.core.errors import SourceError
from numa_agent.core.pci import PciAddress
from numa_agent.core.recording.nvml import FORMAT
from numa_agent.host.nvml.calls import CallError, Calls, Key, MigMode, Registration
from numa_agent.host.nvml.live import LiveCalls
from numa_agent.host.nvml.read import read
from numa_agent.host.nvml.recorded import RecordedCalls
from numa_agent.host.nvml.session import read_highest_ids

T = TypeVar("T")

_BEYOND = {"error": "InvalidArgument"}
"""What a list holds where nobody asked."""
_BROKEN = "broken"
"""No format of ours: read as answers, it is refused."""

_Json = dict[str, object]


def heard_live(host_root: Path, option: str) -> Document:
    """What the driver of this machine says; the option is that of --nvml."""
    library = Path(option) if option.startswith("/") else None
    calls = LiveCalls(library, read_highest_ids(host_root))
    try:
        return _heard(calls)
    finally:
        calls.close()


def heard_recorded(document: Document) -> Document:
    """What a recorded machine's NVML says; answers that can't be read are such again."""
    try:
        return _heard(RecordedCalls(document, "answers/nvml.json"))
    except SourceError:
        return {"format": _BROKEN}


def _heard(calls: Calls) -> Document:
    heard = _Heard(calls)
    read(heard)
    return heard.document


class _Heard:
    """Passes questions on, and keeps the answers in their places."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.document: _Json = {"format": FORMAT, "init": None, "system": {}, "gpus": []}

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        """The answer to one call."""
        steps: list[str | int] = [] if gpu is None else ["gpus", gpu]
        steps += [] if mig is None else ["mig_devices", mig]
        steps += key.name.split(".")
        steps += [] if argument is None else [argument]
        try:
            answer = self._calls.ask(key, gpu, argument, mig)
        except CallError as refusal:
            self._put(steps, {"error": refusal.error})
            raise
        self._put(steps, _written(key, answer))
        return answer

    def _put(self, steps: list[str | int], value: object) -> None:
        """Set the value at a place; lists grow up to it."""
        place: object = self.document
        for step, following in zip(steps, (*steps[1:], None), strict=True):
            empty: object = value if following is None else [] if _is_index(following) else {}
            if isinstance(place, list) and isinstance(step, int):
                while len(place) <= step:
                    place.append(dict(_BEYOND))
                if following is None or _is_error(place[step]):
                    place[step] = empty
                place = place[step]
            elif isinstance(place, dict) and isinstance(step, str):
                if following is None:
                    # A list that is there has been counted, or answered by number.
                    place[step] = value if step not in place or value != [] else place[step]
                elif not isinstance(place.get(step), list | dict):
                    place[step] = empty
                place = place[step]


def _is_index(step: object) -> bool:
    return isinstance(step, int)


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"error"}


def _written(key: Key[T], answer: T) -> object:
    """An answer as nvml.json has it: the inverse of the key's `decode`."""
    value: object = answer
    if isinstance(value, frozenset):
        return cpulist.render(value)
    if isinstance(value, PciAddress):
        return {"bus_id": str(value)} if key.name == "pci" else str(value)
    if isinstance(value, MigMode):
        return {"current": int(value.current), "pending": int(value.pending)}
    if isinstance(value, Registration):
        return {
            "state": value.state,
            "status": value.status,
            "cluster_uuid": value.cluster_uuid,
            "clique_id": value.clique_id,
        }
    if key.name == "gpus" and isinstance(value, int):
        return [{} for _ in range(value)]
    if key.name == "mig_devices":
        return {} if value is None else [dict(_BEYOND) for _ in range(int(str(value)))]
    return value
