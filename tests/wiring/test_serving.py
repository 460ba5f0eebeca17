"""What the loop does is told to those who serve, and served where the configuration says so."""

import errno
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from numa_agent.agent import News, Seen
from numa_agent.config import Config, load
from numa_agent.core.errors import SourceError
from numa_agent.core.health import Health
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.view import Json
from numa_agent.serve.board import Board
from numa_agent.wiring.serving import counted, start, told
from tests.core.test_report import GOOD, WRITE
from tests.ports import free_address

MANIFEST: Json = {"kind": "Device", "metadata": {"name": "n"}}


@pytest.fixture
def board() -> Board:
    return Board(period=45.0)


@pytest.fixture
def config() -> Config:
    return load(None, {"metrics": free_address()}, {})


def test_each_kind_of_news_is_told_to_both(board: Board) -> None:
    heard: list[News] = []
    tell = told(board, heard.append)
    news: list[News] = [SourceError("no map"), GOOD, Seen(writes=(WRITE,))]
    for each in news:
        tell(each)
    assert heard == news
    assert board.tally.passes == {"failed": 1, "good": 1}
    assert board.tally.writes == {("cpus", "taken"): len(GOOD.writes) + 1}


def test_a_log_that_can_t_be_written_stops_nothing_and_is_named_until_it_can(board: Board) -> None:
    full = [True]

    def tell(_: News) -> None:
        if full[0]:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    both = told(board, tell)
    both(GOOD)
    assert board.ready() == Health(good=True, reasons=("the log can't be written: Broken pipe",))
    full[0] = False
    both(GOOD)
    assert board.ready() == Health(good=True)
    assert board.tally.passes == {"good": 2}


def test_each_try_to_publish_is_told_one_that_raises_too(board: Board) -> None:
    held = Published(outcome=Outcome.UNCHANGED, detail="")
    assert counted(lambda _: held, board)(MANIFEST) is held
    assert counted(lambda _: None, board)(MANIFEST) is None

    def down(_: Json) -> Published:
        raise SourceError("down")

    failed = counted(down, board)(MANIFEST)
    assert failed is not None
    assert failed.outcome is Outcome.UNAVAILABLE
    assert board.tally.publications == {("Device", "unchanged"): 1, ("Device", "unavailable"): 1}


def test_it_is_served_until_the_stack_ends(board: Board, config: Config) -> None:
    board.passed(GOOD)
    url = f"http://{config.metrics}/readyz"
    with ExitStack() as stack:
        start(config, board, stack)
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.read() == b"ready\n"
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=10)


def test_a_certificate_that_is_not_there_is_named(
    board: Board, config: Config, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    config = replace(config, metrics_tls_cert=certificate, metrics_tls_key=key)
    with ExitStack() as stack, pytest.raises(SourceError, match=r"tls\.crt"):
        start(config, board, stack)
