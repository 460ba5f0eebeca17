"""A recorded machine's NVML, from answers/nvml.json (docs/recorded-machines.md)."""

from pathlib import Path
from typing import TypeVar

from numa_agent.config import RECORDED_ANSWERS
from numa_agent.core.documents import Document
from numa_agent.core.errors import SourceError
from numa_agent.core.nvml import NvmlAnswers
from numa_agent.host.nvml.calls import CallError, Key
from numa_agent.host.nvml.conditions import NOTHING
from numa_agent.host.nvml.read import read
from numa_agent.host.recorded import read_answer

T = TypeVar("T")

_FORMAT = "numa-agent.nvml/v1"


def read_recorded(host_root: Path, *, expected: bool) -> NvmlAnswers:
    """What NVML said on a recorded machine; nothing where no NVIDIA GPU is expected.

    Raises SourceError when the file isn't there or is malformed.
    """
    if not expected:
        return NOTHING
    document = read_answer(host_root, "nvml")
    return read(RecordedCalls(document, str(host_root / RECORDED_ANSWERS / "nvml.json")))


class RecordedCalls:
    """Answers as the document does, by its three rules.

    A value is the answer or an error; a list answers by number and beyond its end with
    InvalidArgument; a key that isn't there answers NotSupported. Asking raises SourceError, with
    the file and the key, where the document is malformed.
    """

    def __init__(self, document: Document, source: str) -> None:
        """Take the document, and the path that messages name."""
        self._document = document
        self._source = source
        if document.get("format") != _FORMAT:
            raise SourceError(f"{source}: format: expected {_FORMAT!r}")

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        """The recorded answer to one call."""
        steps: list[str | int] = []
        if gpu is not None:
            steps += ["gpus", gpu]
        if mig is not None:
            steps += ["mig_devices", mig]
        steps += key.name.split(".")
        if argument is not None:
            steps.append(argument)
        return self._decoded(key, steps)

    def _decoded(self, key: Key[T], steps: list[str | int]) -> T:
        value: object = self._document
        for depth in range(1, len(steps) + 1):
            value = self._step(value, steps[:depth])
            self._refuse(value, steps[:depth])
        try:
            return key.decode(value)
        except ValueError as error:
            raise self._malformed(steps, str(error)) from error

    def _step(self, value: object, steps: list[str | int]) -> object:
        step = steps[-1]
        if isinstance(step, str):
            if not isinstance(value, dict):
                raise self._malformed(steps[:-1], f"expected an object, found {value!r}")
            if step not in value:
                raise CallError("NotSupported")
            return value[step]
        if not isinstance(value, list):
            raise self._malformed(steps[:-1], f"expected a list, found {value!r}")
        if step >= len(value):
            raise CallError("InvalidArgument")
        return value[step]

    def _refuse(self, value: object, steps: list[str | int]) -> None:
        """Raise the error that is in the place of an answer."""
        if not isinstance(value, dict) or "error" not in value:
            return
        name = value["error"]
        if not isinstance(name, str) or not name:
            raise self._malformed([*steps, "error"], f"expected a name, found {name!r}")
        raise CallError(name)

    def _malformed(self, steps: list[str | int], problem: str) -> SourceError:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        return SourceError(f"{self._source}: {place.lstrip('.') or 'document'}: {problem}")
