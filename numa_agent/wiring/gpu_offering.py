"""What is known of a node's cards, from whomever, and the offer that it makes."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from numa_agent.config import Config
from numa_agent.core.conditions import Condition
from numa_agent.core.gpu_plugin import (
    Closeness,
    Grant,
    Handing,
    Health,
    Offer,
    Wish,
    Xid,
    ailing,
    closeness,
    granted,
    held_elsewhere,
    offered,
    preferred,
    rivals,
    without_files,
)
from numa_agent.core.grants import PodResources
from numa_agent.core.topology import Topology

Say = Callable[[str], None]


class Offering:
    """The cards as kubelet is told of them; any thread may bring news of them.

    `changed` is called when kubelet should hear of it, in the thread that brought the news.
    """

    def __init__(
        self,
        config: Config,
        say: Say,
        *,
        wish: Callable[[Wish], Wish],
        health: Health | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is known, and nothing is offered."""
        self.changed: Callable[[], None] = lambda: None
        self.rivals: tuple[str, ...] = ()
        self._config = config
        self._say = say
        self._wish = wish
        self._health = health or Health()
        self._clock = clock
        self._locked = threading.RLock()
        self._seen: tuple[Offer, Closeness] | None = None
        # One value, so that a reader has cards and tables that belong together.
        self._now = (Offer(cards=(), placed=False), Closeness((), (), ()))
        self._handing = Handing(config.gpu_pass)
        self._held: Mapping[str, str] = {}
        self._bare: Mapping[str, str] = {}
        self._advice: Mapping[str, str] = {}

    @property
    def mute(self) -> bool:
        """Whether there is a card of which the last map had no news."""
        with self._locked:
            return self._health.waiting

    def offer(self) -> Offer:
        """What is offered now."""
        return self._now[0]

    def prefer(self, wish: Wish) -> Sequence[str]:
        """The cards to give of those that are free."""
        offer, close = self._now
        try:
            asked = self._wish(wish)
        except Exception as error:
            # It reads what another thread is at, and an error here would fail the pod.
            self._say(f"the pod's CPUs aren't looked at for its cards: {error!r:.200}")
            asked = wish
        return preferred(offer.cards, close, asked)

    def grant(self, ids: Sequence[str]) -> Grant:
        """How a container gets these cards. Raises NotGrantedError."""
        return granted(self._now[0].cards, ids, self._handing, self._device_files())

    def see(self, topology: Topology) -> None:
        """Take in the map as it is now."""
        with self._locked:
            before = () if self._seen is None else self._seen[0].cards
            offer = offered(topology, before)
            self._seen = offer, closeness(topology, offer.cards)
            if self._handing is Handing.DEVICES:
                self._bare = without_files(offer.cards, self._device_files())
            self.refresh()

    def hear(self, event: Xid) -> bool:
        """Take in a critical error; whether it says something of a card."""
        with self._locked:
            if self._seen is None:
                return False
            counts = self._health.hear(event, self._seen[0], self._clock())
            self.refresh()
            return counts

    def advise(self, advice: Mapping[str, str]) -> None:
        """Take in what the driver wants done, by card."""
        with self._locked:
            self._advice = dict(advice)
            self.refresh()

    def look_around(
        self,
        grants: PodResources | None,
        allocatable: Mapping[str, int],
        *,
        ours_served: bool = True,
    ) -> None:
        """Take in who else hands out these cards, or holds some of them."""
        resource = self._config.gpu_resource
        with self._locked:
            ids = [card.id for card in self._now[0].cards]
            found = rivals(resource, ids, grants, allocatable, ours_served=ours_served)
            for sentence in found:
                if sentence not in self.rivals:
                    self._say(sentence)
            self.rivals = found
            self._held = held_elsewhere(resource, ids, grants)
            self.refresh()

    def refresh(self) -> None:
        """Make the offer anew, since time has passed, and tell where it is another one."""
        with self._locked:
            if self._seen is None:
                return
            seen, close = self._seen
            ailments = self._health.ailments(seen, self._clock(), self._advice)
            found = {**self._held, **self._bare, **ailments}
            if self.rivals:
                found = {card.id: self.rivals[0] for card in seen.cards}
            before = self._now[0]
            offer = ailing(seen, found)
            self._now = offer, close
            if offer != before:
                self._tell(before, offer)
                self.changed()

    def conditions(self) -> tuple[Condition, ...]:
        """What isn't as it should be with the cards."""
        offer = self._now[0]
        ill = [card for card in offer.cards if card.ailment is not None and not self.rivals]
        return (
            *offer.conditions,
            *(
                Condition(
                    code="gpu-card-unhealthy",
                    subject=card.id,
                    message=f"GPU {card.address} ({card.id}) isn't given to pods: {card.ailment}",
                )
                for card in ill
            ),
            *(
                Condition(code="gpu-plugin-rival", subject="gpu-plugin", message=each)
                for each in self.rivals
            ),
        )

    def _device_files(self) -> frozenset[str]:
        """The machine's, where containers are given them."""
        from numa_agent.host.deviceplugin.files import read_device_files

        if self._handing is not Handing.DEVICES:
            return frozenset()
        return read_device_files(self._config.host_root)

    def _tell(self, before: Offer, offer: Offer) -> None:
        known = {card.id: card.ailment for card in before.cards}
        for card in offer.cards:
            if known.get(card.id) == card.ailment or self.rivals:
                continue
            what = "is well again" if card.ailment is None else card.ailment
            self._say(f"GPU {card.address} ({card.id}): {what}")
