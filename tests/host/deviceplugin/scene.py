"""Cards of our own making, served in this process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from numa_agent.core.gpu_plugin import (
    Card,
    Closeness,
    Grant,
    Handing,
    Offer,
    Wish,
    granted,
    preferred,
)
from numa_agent.core.pci import PciAddress
from numa_agent.host.deviceplugin.keeping import socket_name
from numa_agent.host.deviceplugin.server import Server
from numa_agent.host.deviceplugin.service import service

RESOURCE = "aliyun.com/gpu"


def card(index: int, node: int | None = 0, ailment: str | None = None) -> Card:
    return Card(
        id=f"GPU-{index}",
        index=index,
        address=PciAddress(0, index, 0, 0),
        minor=index,
        node=node,
        name="H100",
        ailment=ailment,
    )


def flat(count: int) -> Closeness:
    """Cards that are as close to each other as to any."""
    zeros = tuple((0,) * count for _ in range(count))
    return Closeness(zeros, zeros, zeros)


class Cards:
    """What a plugin knows, changed at will."""

    def __init__(self, count: int = 4, placed: bool = True) -> None:
        cards = tuple(card(index, index // 2 if placed else None) for index in range(count))
        self.now = Offer(cards=cards, placed=placed)
        self.handing = Handing.ENV
        self.present: frozenset[str] = frozenset()

    def offer(self) -> Offer:
        return self.now

    def prefer(self, wish: Wish) -> Sequence[str]:
        return preferred(self.now.cards, flat(len(self.now.cards)), wish)

    def grant(self, ids: Sequence[str]) -> Grant:
        return granted(self.now.cards, ids, self.handing, self.present)

    def ail(self, index: int, ailment: str | None) -> None:
        cards = [*self.now.cards]
        cards[index] = replace(cards[index], ailment=ailment)
        self.now = replace(self.now, cards=tuple(cards))


@contextmanager
def served(folder: Path, cards: Cards) -> Iterator[Server]:
    """A server of these cards in a folder."""
    server = Server(folder / socket_name(RESOURCE), service(cards))
    try:
        yield server
    finally:
        server.close()
