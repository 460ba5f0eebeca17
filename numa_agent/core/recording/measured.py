"""What of a file of measured distances comes into a recording: core.measuring.distances."""

import json
import re

from numa_agent.core.measuring.distances import FORMAT, DistancesError, of_text
from numa_agent.core.recording import words
from numa_agent.core.recording.fields import Entries, one_of, reduced, text
from numa_agent.core.recording.pseudonyms import Names

UNREADABLE = "{}\n"
"""No distances: such a file costs itself alone, and a condition says why."""

_ROW = re.compile(r"(?:\d{1,3}|-)(?: (?:\d{1,3}|-)){0,1023}")
_TEXT = text(lambda names, value: value if _ROW.fullmatch(value) else names.word(value))
_SHAPE = {
    "format": one_of(FORMAT),
    "by": one_of("latency", "bandwidth"),
    "cpu_model": text(words.product),
    "nodes": Entries(
        lambda names, key: key if key.isascii() and key.isdecimal() else names.word(key),
        lambda _: {"firmware": _TEXT, "distances": _TEXT},
    ),
}


def distances(content: str, names: Names) -> str:
    """The file's text; one that can't be used is answered with another such."""
    try:
        of_text(content)
    except DistancesError:
        return UNREADABLE
    return json.dumps(reduced(_SHAPE, json.loads(content), names), indent=1) + "\n"
