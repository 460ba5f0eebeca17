"""NVML's events through the real binding over the fake library, whatever the driver can't do."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gpu_plugin.node import EVENTS, Node
from tests.nvml.library import CODES, write
from tests.recorded import ROOT

pytestmark = pytest.mark.timeout(60)


class Listener:
    """What the process tells, line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def until(self, *kinds: str) -> tuple[str, Any]:
        """The next line of one of these kinds."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            print(line, end="")  # shown where the test fails
            kind, what = json.loads(line)
            if kind in kinds:
                return kind, what
        raise AssertionError("it ended")

    def trouble(self, words: str) -> str:
        """The next trouble that has these words."""
        while True:
            _, said = self.until("trouble")
            if words in said:
                return str(said)


@contextmanager
def listening(node: Node, library: Path) -> Iterator[Listener]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.gpu_plugin.listening", str(library)],
        cwd=ROOT,
        env=os.environ | {"FAKE_NVML_FILE": str(node.answers)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Listener(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


def test_errors_are_told_by_card_and_advice_is_asked_after_each(node: Node, library: Path) -> None:
    with listening(node, library) as told:
        assert told.until("xid", "advice") == ("advice", {})
        node.driver("event.0 0 3 8 94", "3.recovery_action 0 4", "5.recovery_action 0 99")
        assert told.until("xid", "advice") == ("xid", [node.ids[3], 94])
        _, advice = told.until("advice")
        assert advice.keys() == {node.ids[3], node.ids[5]}
        assert "a drain and a reset of the GPU" in advice[node.ids[3]]
        assert "recovery action 99" in advice[node.ids[5]]


def test_events_of_other_kinds_are_no_errors(node: Node, library: Path) -> None:
    with listening(node, library) as told:
        told.until("advice")
        node.driver("event.0 0 3 4 1", "event.1 0 4 8 48")
        assert told.until("xid") == ("xid", [node.ids[4], 48])


def test_a_lost_card_that_tells_nothing_any_more_is_known_by_its_handle(
    node: Node, library: Path
) -> None:
    with listening(node, library) as told:
        told.until("advice")
        node.lose(2)
        node.driver("event.0 0 2 8 79")
        assert told.until("xid") == ("xid", [node.ids[2], 79])


def test_a_card_without_events_is_named_and_the_others_are_heard(
    node: Node, library: Path
) -> None:
    write(node.answers, node.document, *EVENTS[:2], "2.event_types 0 4", *EVENTS[4:])
    with listening(node, library) as told:
        said = told.trouble("errors (XIDs) aren't told by")
        assert [name for name in node.ids if name in said] == node.ids[2:4]
        write(node.answers, node.document, *EVENTS[:2], *EVENTS[4:], "event.0 0 0 8 48")
        assert told.until("xid") == ("xid", [node.ids[0], 48])


def test_a_card_that_can_t_be_opened_at_first_is_named_and_heard_later(
    node: Node, library: Path
) -> None:
    well = json.dumps(node.document)
    node.lose(5)
    node.document["gpus"][5]["handle"] = {"error": "GpuIsLost"}
    node.driver()
    with listening(node, library) as told:
        assert "GPU 5: GpuIsLost" in told.trouble("errors (XIDs) aren't told by")
        node.document = json.loads(well)
        node.driver()
        assert told.trouble("") == ""
        node.driver("event.0 0 5 8 48")
        assert told.until("xid") == ("xid", [node.ids[5], 48])


def test_a_driver_that_comes_late_is_listened_to_then(node: Node, library: Path) -> None:
    answers = {**node.document, "init": {"error": "DriverNotLoaded"}}
    write(node.answers, answers, *EVENTS)
    with listening(node, library) as told:
        assert "aren't heard: DriverNotLoaded" in told.trouble("NVML's events")
        node.driver()
        assert told.trouble("") == ""
        node.driver("event.0 0 6 8 119")
        assert told.until("xid") == ("xid", [node.ids[6], 119])


def test_a_wait_that_fails_is_begun_anew(node: Node, library: Path) -> None:
    with listening(node, library) as told:
        told.until("advice")
        node.driver(f"event.0 {CODES['GpuIsLost']}")
        assert "aren't heard: GpuIsLost" in told.trouble("NVML's events")
        assert told.trouble("") == ""
        node.driver(f"event.0 {CODES['GpuIsLost']}", "event.1 0 1 8 48")
        assert told.until("xid") == ("xid", [node.ids[1], 48])


def test_a_library_that_isn_t_one_is_told(node: Node, tmp_path: Path) -> None:
    with listening(node, tmp_path / "nothing.so") as told:
        told.trouble("LibraryNotFound")
