"""A call into NVIDIA's driver that hangs costs what only NVML knows, and no pass."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from numa_agent.config import Config
from numa_agent.core.nvml import NvmlAnswers
from numa_agent.host.nvml import read_recorded
from numa_agent.wiring.asking import done_within
from numa_agent.wiring.map import patient
from numa_agent.wiring.sources import PATIENCE, sources
from tests.recorded import machine

ROOT = machine("two-socket-8gpu")


class Driver:
    """Answers as the recorded one once it is let."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked = 0

    def __call__(self, expected: bool) -> NvmlAnswers | None:
        self.asked += 1
        assert self.let.wait(60)
        return read_recorded(ROOT, expected=expected)


@pytest.fixture
def driver() -> Iterator[Driver]:
    found = Driver()
    yield found
    found.let.set()


class Watched:
    """A watch of pods, of which a map needs nothing."""

    def pods(self) -> object:
        raise AssertionError("nobody asks for pods here")


def test_a_running_agents_map_is_there_without_what_nvml_knows(
    driver: Driver, tmp_path: Path
) -> None:
    root = tmp_path / "live"
    root.mkdir()
    for name in ("sys", "proc"):
        (root / name).symlink_to(ROOT / name)
    config = Config(host_root=root, live_root=root, node_name="n", kubeconfig=None)
    edge = cast("Any", Watched())
    read = sources(config, driver, edge, edge).topology
    started = time.monotonic()
    without = read()
    assert time.monotonic() - started < PATIENCE + 20
    assert [each.code for each in without.warnings if each.code.startswith("nvml")] == [
        "nvml-no-answer"
    ]
    assert without.gpus
    assert all(gpu.nvml is None for gpu in without.gpus)
    driver.let.set()
    # What it says late is there when its thread has come to it.
    for _ in range(100):
        time.sleep(0.1)
        late = read()
        if all(gpu.nvml is not None for gpu in late.gpus):
            break
    assert all(gpu.nvml is not None for gpu in late.gpus)
    assert driver.asked == 1


def test_while_it_hangs_it_is_asked_no_second_time_and_says_the_same(driver: Driver) -> None:
    ask = patient(driver, 0.01)
    first, *others = [ask(True) for _ in range(5)]
    assert others == [first] * 4
    assert driver.asked == 1


def test_an_error_is_still_the_one_who_asks(driver: Driver) -> None:
    def broken(_: bool) -> NvmlAnswers | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        patient(broken, 60)(True)
    driver.let.set()
    assert patient(driver, 60)(True) == read_recorded(ROOT, expected=True)


def test_what_ends_is_waited_for_shortly() -> None:
    hung = threading.Event()
    started = time.monotonic()
    assert not done_within("hung", lambda: hung.wait(60), 0.05)
    assert time.monotonic() - started < 20
    hung.set()
    assert done_within("quick", lambda: None, 60)
    with pytest.raises(ZeroDivisionError):
        done_within("broken", lambda: 1 // 0, 60)
