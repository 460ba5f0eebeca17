"""What stands for a name in a recording: one pseudonym for one name, in the names' own order.

The order is kept since it decides: the first of two pods that claim a CPU holds it, and
containers, devices and cgroups are gone through by name. It is kept among resources and interfaces
that have their own names, too. A digest with a random key, which is kept
nowhere, makes the pseudonyms of two recordings differ. Hexadecimal forms are RFC 4122's, as
Kubernetes writes them, and the 64 digits of a container's id.
"""

import hashlib
import hmac
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise


class Kind(StrEnum):
    """What is named; the value begins its pseudonyms."""

    NODE = "node"
    NAMESPACE = "ns"
    POD = "pod"
    CONTAINER = "ctr"
    CLAIM = "claim"
    DOMAIN = "dom"
    RESOURCE = "res"
    DEVICE = "dev"
    INTERFACE = "if"
    DRIVER = "drv"
    MANAGER = "mgr"
    CLASS = "class"
    CGROUP = "cg"
    NESTED = "in"
    """A cgroup that a container made in its own."""
    UUID = "uuid"
    """32 hexadecimal digits, with dashes or without."""
    CONTAINER_ID = "id"
    """64 hexadecimal digits."""
    WORD = "Word_"
    """Any text that isn't known to be harmless. No name, list or amount of Kubernetes' is so."""


_FIRST, _LAST = "0", "z"
"""Below and above the letters that names begin and go on with."""

_HEX = {Kind.UUID: 32, Kind.CONTAINER_ID: 64}
_DASHES = (8, 12, 16, 20)


class Names:
    """Names and their pseudonyms.

    Everything is asked for twice: until `settle` is called, names are only collected and answered
    with themselves; from then on with pseudonyms. One that comes later gets one too, behind the
    others. With `keep`, names stay what they are.
    """

    def __init__(self, key: bytes, *, keep: bool = False) -> None:
        """Take the digests' key: random bytes, new for each recording."""
        self.keep = keep
        self._key = key
        self._heard: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        self._known: dict[Kind, set[str]] = {kind: set() for kind in Kind}
        self._given: dict[tuple[Kind, str], str] = {}
        self._count: dict[Kind, int] = {}
        self._settled = False

    def settle(self) -> None:
        """Give every name heard until now its pseudonym."""
        self._settled = True
        for kind, texts in self._heard.items():
            known = sorted(self._known[kind])
            for text in sorted(texts):
                self._give(kind, text, _between(kind, known, bisect_left(known, text)))

    def of(self, kind: Kind, text: str) -> str:
        """What stands for a name."""
        if self.keep:
            return text
        if not self._settled:
            self._heard[kind].add(text)
            return text
        return self._given.get((kind, text)) or self._give(kind, text)

    def known(self, kind: Kind, text: str) -> str:
        """A name that stays as it is, and in whose order pseudonyms of its kind have to be."""
        if not (self.keep or self._settled):
            self._known[kind].add(text)
        return text

    def word(self, text: str) -> str:
        """What stands for a text that isn't known to be harmless."""
        return self.of(Kind.WORD, text)

    @property
    def originals(self) -> Mapping[str, str]:
        """The name that each pseudonym stands for. It must not leave the machine."""
        return {pseudonym: text for (_, text), pseudonym in self._given.items()}

    def _give(self, kind: Kind, text: str, begin: str = "") -> str:
        self._count[kind] = rank = self._count.get(kind, 0) + 1
        digest = hmac.new(self._key, f"{kind}\0{text}".encode(errors="replace"), hashlib.sha256)
        pseudonym = begin + _written(kind, rank, digest.hexdigest(), text)
        self._given[kind, text] = pseudonym
        return pseudonym


def _between(kind: Kind, known: Sequence[str], place: int) -> str:
    """What pseudonyms begin with, to be behind the known names before a place and before the rest.

    Most often nothing: their own letters have that order.
    """
    low, high = known[place - 1] if place else "", known[place] if place < len(known) else None
    begins = ["", *(low[:end] + _LAST for end in range(1, len(low) + 1))] if low else ["", _FIRST]
    for begin in begins:
        first, end = f"{begin}{kind}0", f"{begin}{kind}:"  # a colon comes after the nine
        if low < first and (high is None or end <= high):
            return begin
    return ""


def _written(kind: Kind, rank: int, digest: str, text: str) -> str:
    digits = _HEX.get(kind)
    if digits is None:
        return f"{kind}{rank:05d}x{digest[:6]}"
    number = f"{rank:08x}{digest}"[:digits]
    if kind is Kind.UUID and "-" in text:
        cuts = (0, *_DASHES, digits)
        return "-".join(number[a:b] for a, b in pairwise(cuts))
    return number
