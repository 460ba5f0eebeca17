"""Asks kubelet what it gave to each container, and translates what may go wrong."""

import stat
import time
from pathlib import Path
from typing import TypeVar

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message

from numa_agent.core.documents import Document
from numa_agent.core.errors import SourceError
from numa_agent.host.podresources import api_pb2
from numa_agent.host.podresources.answer import (
    BrokenError,
    Status,
    StatusError,
    TooLargeError,
)
from numa_agent.host.podresources.unary import Connection

DEADLINE_SECONDS = 10.0
"""How long both calls may take together, their repetitions included."""
MOST_BYTES = 16 << 20
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The seconds before each further try while kubelet rejects a call: it lets 100 a second through,
of all its clients together, so that a try that fails means a crowd."""

_SERVICE = api_pb2.DESCRIPTOR.services_by_name["PodResourcesLister"].full_name
_SWITCHED_OFF = "GetAllocatableResources disabled"
"""What a kubelet says, as UNKNOWN, whose feature gate for this call is off."""

_Answer = TypeVar("_Answer", bound=Message)


def read_pod_resources(
    socket: Path, *, deadline: float = DEADLINE_SECONDS, limit: int = MOST_BYTES
) -> Document:
    """What List and GetAllocatableResources answer, as `list` and `allocatable`.

    Both are in protobuf's JSON mapping, such as `{"podResources": [...]}`; `allocatable` is None
    where kubelet doesn't know the call. `deadline` is in seconds for all together, `limit` in
    bytes for each answer. Each read connects anew, so that a kubelet that has restarted, with
    another socket in the same place, is found. Raises SourceError.
    """
    try:
        with Connection(socket, deadline=time.monotonic() + deadline, limit=limit) as connection:
            listed = _call(connection, "List", api_pb2.ListPodResourcesResponse)
            allocatable = _allocatable(connection)
    except (OSError, StatusError, BrokenError, TooLargeError) as error:
        raise SourceError(f"{socket}: {_said(socket, error)}") from error
    return {"list": listed, "allocatable": allocatable}


def _allocatable(connection: Connection) -> Document | None:
    try:
        return _call(connection, "GetAllocatableResources", api_pb2.AllocatableResourcesResponse)
    except StatusError as error:
        if error.status is Status.UNIMPLEMENTED or _SWITCHED_OFF in error.message:
            return None
        raise


def _call(connection: Connection, method: str, kind: type[_Answer]) -> Document:
    """The method's answer; none of the methods needs its request to say anything."""
    content = _patient_call(connection, f"/{_SERVICE}/{method}")
    try:
        return MessageToDict(kind.FromString(content))
    except DecodeError as error:
        raise BrokenError(f"its answer to {method} isn't a {kind.DESCRIPTOR.name}") from error


def _patient_call(connection: Connection, path: str) -> bytes:
    """The answer to an empty request, asked for again while kubelet rejects it for its rate."""
    for pause in PAUSES:
        try:
            return connection.call(path, b"")
        except StatusError as error:
            if error.status is not Status.RESOURCE_EXHAUSTED or connection.left() < pause:
                raise
        time.sleep(pause)
    return connection.call(path, b"")


_STATUS_HINTS = {
    Status.UNIMPLEMENTED: "this isn't kubelet's podresources API v1; does kubelet listen there?",
    Status.RESOURCE_EXHAUSTED: "do other clients ask kubelet without pause?",
    Status.DEADLINE_EXCEEDED: "is kubelet overloaded?",
    Status.PERMISSION_DENIED: "the agent needs uid 0",
}


def _said(socket: Path, error: Exception) -> str:
    """What went wrong and what to do next."""
    match error:
        case FileNotFoundError():
            return "not there; is kubelet running, and is its directory mounted (not the socket)?"
        case PermissionError():
            return f"{error.strerror}; the agent needs uid 0 to connect"
        case ConnectionRefusedError() if not _is_socket(socket):
            return "not a socket; kubelet's pod-resources directory was expected there"
        case ConnectionRefusedError():
            return "nobody listens; is kubelet running? It is asked again in the next pass"
        case BlockingIOError() | TimeoutError():
            return f"{error}; does kubelet hang? It is asked again in the next pass"
        case StatusError(status=status):
            hint = _STATUS_HINTS.get(status, "kubelet's log says why")
            return f"kubelet answers {error}; {hint}"
        case TooLargeError():
            return f"{error}; are there that many pods, or does something else listen there?"
        case BrokenError():
            return f"{error}; did kubelet restart, or is it something else that listens there?"
    return str(error)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
