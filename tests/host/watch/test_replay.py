"""Whoever plays the events back ends with the directories that are there, whatever happened."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from numa_agent.host.watch import Event, Kind, Role, Watch
from tests.host.watch.events import kernel_watches

PODS = st.sampled_from(["p1", "p2"])
CONTAINERS = st.sampled_from(["c1", "c2"])


@dataclass
class Owner:
    """Follows every directory that it is told of, and keeps what it was told."""

    watch: Watch
    known: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)

    def take(self) -> None:
        for event in self.watch.events(0):
            self.play(event)

    def play(self, event: Event) -> None:
        if event.kind is Kind.WRITTEN:
            self.written.add(event.target)
        elif event.kind is Kind.CREATED:
            self.known.add(event.target)
            self.watch.follow(event.target, Role.CGROUP)
        else:
            below = {path for path in self.known if event.target in path.parents}
            self.known -= below
            if event.kind is Kind.GONE:
                self.known.discard(event.target)


@contextmanager
def owner() -> Iterator[tuple[Path, Owner]]:
    with tempfile.TemporaryDirectory() as folder, closing(Watch()) as watch:
        root = Path(folder)
        watch.follow(root, Role.CGROUP)
        yield root, Owner(watch)


def make(path: Path) -> None:
    if path.parent.exists() and not path.exists():
        path.mkdir()


def remove(path: Path) -> None:
    if path.exists():
        for below in path.iterdir():
            below.rmdir() if below.is_dir() else below.unlink()
        path.rmdir()


Act = Callable[[Path, Owner], None]


def _acts() -> st.SearchStrategy[Act]:
    paths = st.one_of(PODS, st.builds("{}/{}".format, PODS, CONTAINERS))
    making = paths.map(lambda name: lambda root, _: make(root / name))
    removing = paths.map(lambda name: lambda root, _: remove(root / name))
    forgetting = paths.map(
        # Forgotten and followed again, as an owner does that isn't sure.
        lambda name: (
            lambda root, owner: (
                owner.watch.forget(root / name),
                owner.watch.follow(root / name, Role.CGROUP),
            )
        )
    )
    taking: st.SearchStrategy[Act] = st.just(lambda _, owner: owner.take())
    return st.one_of(making, making, removing, taking, forgetting)


def directories(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_dir()}


@settings(max_examples=300, deadline=None)
@given(acts=st.lists(_acts(), max_size=40))
def test_the_events_played_back_give_the_directories_that_are_there(acts: list[Act]) -> None:
    with owner() as (root, seen):
        for act in acts:
            act(root, seen)
        # What a follow finds is told at the next take: two levels below the root.
        for _ in range(3):
            seen.take()
        assert seen.known == directories(root)
        assert seen.watch.followed == {root, *directories(root)}
        assert kernel_watches(seen.watch) == len(seen.watch.followed)
        for path in seen.watch.followed:
            (path / "cpuset.cpus").write_text("0\n")
        seen.take()
        assert {path.parent for path in seen.written} == seen.watch.followed
