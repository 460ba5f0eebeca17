"""Which cards ail and which are well again: by the map, by NVML's events, by the clock given.

A card that ailed is well again as soon as its driver says so: no card waits for a restart of the
agent (https://github.com/NVIDIA/k8s-device-plugin/issues/111 is a plugin whose cards do).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numa_agent.core.gpu_plugin.cards import MUTE, Offer

APPLICATION_XIDS = frozenset({13, 31, 43, 45, 68, 109})
"""Errors of what runs on a card and not of the card, as NVIDIA's own plugin has them:
https://docs.nvidia.com/deploy/xid-errors/ and its list of XIDs that don't count,
https://github.com/NVIDIA/k8s-device-plugin."""

QUIET_SECONDS = 300.0
"""How long a card that reported a critical error is given to nobody new, if no other follows."""

MUTE_SECONDS = 60.0
"""How long no news of a card is no bad news: a driver may be slow, or be loaded anew."""


@dataclass(frozen=True, slots=True)
class Xid:
    """A critical error that NVML told of a card, None where it couldn't say of which."""

    card: str | None
    number: int

    @property
    def counts(self) -> bool:
        """Whether it says something of the card itself."""
        return self.number not in APPLICATION_XIDS


class Health:
    """What is remembered of each card; times are a monotonic clock's seconds."""

    def __init__(
        self, *, quiet_seconds: float = QUIET_SECONDS, mute_seconds: float = MUTE_SECONDS
    ) -> None:
        """Nothing is known against any card."""
        self._quiet = quiet_seconds
        self._mute = mute_seconds
        self._errors: dict[str, tuple[int, float]] = {}
        self._silent: dict[str, float] = {}
        self._last: dict[str, str] = {}

    def hear(self, event: Xid, offer: Offer, now: float) -> bool:
        """Take an event in; whether it counts. One of no card known is every card's."""
        if not event.counts:
            return False
        for card in offer.cards:
            if event.card in {None, card.id}:
                self._errors[card.id] = event.number, now
        return True

    def ailments(
        self, offer: Offer, now: float, advice: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Each ailing card's id and why, of the map's `offer`; `advice` is what the driver wants.

        A mute card is what it was, for MUTE_SECONDS; a critical error stands for QUIET_SECONDS,
        and beyond while the driver wants something done about the card.
        """
        found = {}
        for card in offer.cards:
            told = self._told(card.id, card.ailment, now)
            ailment = told or (advice or {}).get(card.id) or self._error(card.id, now)
            if ailment is not None:
                found[card.id] = ailment
        self._last = found
        kept = {card.id for card in offer.cards}
        for memory in (self._errors, self._silent):
            for gone in memory.keys() - kept:
                del memory[gone]
        return found

    @property
    def waiting(self) -> bool:
        """Whether there is a card of which no news came with the last map."""
        return bool(self._silent)

    def _told(self, card: str, ailment: str | None, now: float) -> str | None:
        if ailment != MUTE:
            self._silent.pop(card, None)
            return ailment
        if now - self._silent.setdefault(card, now) < self._mute:
            return self._last.get(card)
        return (
            f"{MUTE} for {self._mute:.0f} s: see `numa-agent doctor` and the kernel's log (NVRM)"
        )

    def _error(self, card: str, now: float) -> str | None:
        if card not in self._errors:
            return None
        number, since = self._errors[card]
        if now - since >= self._quiet:
            del self._errors[card]
            return None
        return (
            f"it reported XID {number} (https://docs.nvidia.com/deploy/xid-errors/), and is"
            f" offered again when {self._quiet:.0f} s passed without another"
        )
