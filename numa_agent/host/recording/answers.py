"""A recorded machine's answers, read within bounds for a recording of the recording."""

import json
from collections.abc import Mapping

from numa_agent.config import RECORDED_ANSWERS
from numa_agent.core.documents import Document
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Tree

_LARGE = 1 << 25
UNREADABLE = "{"
"""Not JSON: read as an answer, it is refused."""


def read_answer(tree: Tree, name: str) -> Document | None:
    """An answer, None where there is none. Raises LeftOutError for one that a pass can't read."""
    path = f"{RECORDED_ANSWERS}/{name}.json"
    try:
        value = json.loads(tree.read(tree.resolve(path), _LARGE).decode())
    except LeftOutError as error:
        if error.missing:
            return None
        raise
    except (ValueError, RecursionError) as error:
        raise LeftOutError("it isn't JSON") from error
    if not isinstance(value, Mapping):
        raise LeftOutError("it isn't a JSON object")
    return value
