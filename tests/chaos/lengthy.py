"""Tests that mostly wait: each runs in a thread beside those that don't, and is told of last."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.proxy import Proxy, proxied
from tests.chaos.account import Account
from tests.chaos.node import Nodes

RESULT_SECONDS = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a lengthy test is given: a network of its own to the server that all share."""

    plane: ControlPlane
    proxy: Proxy
    make_node: Nodes
    folder: Path

    def account(self, name: str) -> Account:
        """An account with the agent's rights, which signs in through the proxy."""
        folder = self.folder / name
        folder.mkdir()
        return Account(self.plane, name, folder, f"https://127.0.0.1:{self.proxy.port}")


Scenario = Callable[[Scene], None]


class Beside:
    """Runs scenarios until the block ends, each in a thread."""

    def __init__(
        self, plane: ControlPlane, scenarios: Sequence[Scenario], folders: Sequence[Path]
    ) -> None:
        self._plane = plane
        self._pool = ThreadPoolExecutor(max_workers=max(1, len(scenarios)))
        self._futures: dict[Scenario, Future[None]] = {
            each: self._pool.submit(self._play, each, folder)
            for each, folder in zip(scenarios, folders, strict=True)
        }

    def ended(self, scenario: Scenario) -> None:
        """Wait for the end of one; raises what it raised, with what its agents printed."""
        self._futures[scenario].result(RESULT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _play(self, scenario: Scenario, folder: Path) -> None:
        with ExitStack() as stack:
            proxy = stack.enter_context(proxied(urlsplit(self._plane.url).port or 0))
            nodes = stack.enter_context(Nodes(self._plane, folder))
            scene = Scene(plane=self._plane, proxy=proxy, make_node=nodes, folder=folder)
            try:
                scenario(scene)
            except BaseException as error:
                error.add_note(nodes.said())
                raise


def lengthy(scenario: Scenario) -> Callable[[Beside], None]:
    """Make a test of a scenario that runs beside the others."""

    def test(beside: Beside) -> None:
        beside.ended(scenario)

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    test.__module__ = scenario.__module__
    test.__dict__["scenario"] = scenario
    return test
