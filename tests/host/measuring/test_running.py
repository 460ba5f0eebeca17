"""A command that is run in turn: as if it had been started by itself."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.measuring import Ended, Runner, StoppedError, leftovers
from tests.host.measuring.at_terminal import PRESSES

GRACE = 2.0
"""Long enough that a busy computer is back before all that is done with it is over."""


class Said:
    """Runs commands of the shell, whose output goes to a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "said"

    @contextmanager
    def runner(self, *command: str, timeout: float = 30) -> Iterator[Runner]:
        with self.path.open("ab") as file:
            yield Runner(command, file.fileno(), timeout)

    def run(self, script: str, timeout: float = 30) -> Ended:
        with self.runner("sh", "-c", script, timeout=timeout) as runner:
            began = time.perf_counter()
            runner.start()
            return runner.wait(began)

    def run_too_long(self, script: str, lines: int) -> Ended:
        """How a command ends whose time is over as soon as it has said so many lines."""
        with self.runner("sh", "-c", script, timeout=0.2) as runner:
            began = time.perf_counter()
            runner.start()
            while len(self.text.splitlines()) < lines:
                assert time.perf_counter() - began < 60, self.text
                time.sleep(0.01)
            return runner.wait(began)

    @property
    def text(self) -> str:
        return self.path.read_text()


@pytest.fixture
def said(tmp_path: Path) -> Said:
    return Said(tmp_path)


def test_output_and_errors_go_where_they_are_sent_and_the_environment_is_ours(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOWN_TO_THE_COMMAND", "a value")
    ended = said.run('echo "out $SHOWN_TO_THE_COMMAND"; echo "err in $(pwd)" >&2')
    assert (ended.exit_code, ended.signal, ended.timed_out) == (0, None, False)
    assert ended.seconds > 0
    assert said.text == f"out a value\nerr in {Path.cwd()}\n"


def test_its_input_is_empty_in_every_run_whatever_ours_is(said: Said, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("for us")
    own = os.dup(0)
    try:
        with (tmp_path / "input").open("rb") as file:
            os.dup2(file.fileno(), 0)
        for _ in range(2):
            assert said.run("wc -c").exit_code == 0
    finally:
        os.dup2(own, 0)
        os.close(own)
    assert said.text.split() == ["0", "0"]


def test_it_is_in_our_process_group_so_that_the_terminal_reaches_it(said: Said) -> None:
    said.run("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat")
    assert int(said.text) == os.getpgrp()


def test_an_exit_code_and_a_signal_are_told_apart(said: Said) -> None:
    ended = said.run("exit 3")
    assert (ended.exit_code, ended.signal) == (3, None)
    ended = said.run("kill -9 $$")
    assert (ended.exit_code, ended.signal, ended.timed_out) == (None, 9, False)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-command-here", "No such file or directory"),
        ("/etc/passwd", "Permission denied"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_a_command_that_can_t_be_started_is_named(said: Said, command: str, why: str) -> None:
    with said.runner(command) as runner, pytest.raises(SourceError) as raised:
        runner.start()
    assert str(raised.value) == f"{command}: can't be started: {why}"


def test_an_empty_command_can_t_be_started(said: Said) -> None:
    with said.runner("") as runner, pytest.raises(SourceError, match=": can't be started: "):
        runner.start()


def test_a_command_that_takes_too_long_is_ended(said: Said) -> None:
    ended = said.run("exec sleep 600", timeout=0.2)
    assert (ended.exit_code, ended.signal, ended.timed_out) == (None, signal.SIGTERM, True)


def test_one_that_ignores_that_is_ended_all_the_same(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numa_agent.host.measuring.running.GRACE", GRACE)
    ended = said.run_too_long("trap '' TERM; echo ready; sleep 5; sleep 600", 1)
    assert (ended.signal, ended.timed_out) == (signal.SIGKILL, True)


def left_behind(said: Said) -> set[int]:
    """The processes by those numbers that a command has said that are still there."""
    numbers = {int(word) for word in said.text.split() if word.isdecimal()}
    assert numbers
    return {number for number in numbers if running(number)}


def running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


LEAVING = (
    ("sleep 600 & echo $!; wait", 1),
    ("(sleep 600 & echo $!); sleep 601 & echo $!; wait", 2),
    # It is nobody's child when the command ends.
    ("sh -c 'sh -c \"echo \\$\\$; sleep 600; :\" & echo $!; wait; :' & wait; :", 2),
    ("trap '' TERM; sleep 600 & echo $!; wait", 1),
)
"""Scripts, and how many lines each says."""


@pytest.mark.parametrize(("script", "lines"), LEAVING)
def test_what_a_command_has_started_ends_with_it(
    script: str, lines: int, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numa_agent.host.measuring.running.GRACE", GRACE)
    assert said.run_too_long(script, lines).timed_out
    assert left_behind(said) == set()


def test_what_a_command_has_started_ends_when_we_stood_still_until_its_time_was_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = leftovers.children()
    script = "trap '' TERM; echo ready; exec sleep 600"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE) as left:
        assert left.stdout is not None
        left.stdout.readline()
        clock = chain([0.0], count(100.0, 0.01))
        with monkeypatch.context() as patched:
            patched.setattr("time.monotonic", lambda: next(clock))
            leftovers.end_children(others, GRACE)
        ended = not running(left.pid)
        left.kill()
    assert ended


def test_what_a_command_has_started_ends_with_a_signal_to_us(said: Said) -> None:
    script = "sleep 600 & echo $! ready; trap 'exit 3' TERM; wait"
    with said.runner("sh", "-c", script) as runner, runner.passing_signals():
        runner.start()
        thread = sent_when_ready(said, signal.SIGTERM)
        with pytest.raises(StoppedError):
            runner.wait(time.perf_counter())
        thread.join()
    assert left_behind(said) == set()


def test_what_others_have_started_goes_on(said: Said) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            assert said.run_too_long("sleep 601 & echo $!; wait", 1).timed_out
            assert left_behind(said) == set()
            assert other.poll() is None
        finally:
            other.kill()


def test_what_a_command_leaves_in_its_own_time_goes_on(said: Said) -> None:
    assert said.run("sleep 600 >/dev/null 2>&1 & echo $!").exit_code == 0
    (number,) = left_behind(said)
    os.kill(number, signal.SIGKILL)


WAITS = f"""\
import signal, sys, time
def tell(number, _):
    print(signal.Signals(number).name, flush=True)
    sys.exit(0)
for number in {[int(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)]}:
    signal.signal(number, tell)
print("ready", flush=True)
time.sleep(600)
"""


def sent_when_ready(said: Said, number: int) -> threading.Thread:
    """Send us a signal as soon as the command waits for one."""

    def send() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "ready" not in said.text:
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_us_reaches_the_command_and_ends_the_trial(
    said: Said, number: int, request: pytest.FixtureRequest
) -> None:
    # nohup has us ignore one of them, which then isn't passed on.
    before = signal.signal(number, signal.SIG_DFL)
    request.addfinalizer(lambda: signal.signal(number, before))
    with said.runner(sys.executable, "-c", WAITS) as runner, runner.passing_signals():
        runner.start()
        thread = sent_when_ready(said, number)
        with pytest.raises(StoppedError, match=signal.Signals(number).name) as raised:
            runner.wait(time.perf_counter())
        thread.join(30)
        assert raised.value.number == number
        with pytest.raises(StoppedError):
            runner.start()
    if number != signal.SIGHUP:
        assert said.text.split() == ["ready", signal.Signals(number).name]


def test_a_signal_that_ends_nothing_reaches_the_command_and_the_trial_goes_on(said: Said) -> None:
    with said.runner(sys.executable, "-c", WAITS) as runner, runner.passing_signals():
        runner.start()
        thread = sent_when_ready(said, signal.SIGUSR1)
        assert runner.wait(time.perf_counter()).exit_code == 0
        thread.join(30)
    assert said.text.split() == ["ready", "SIGUSR1"]


def test_a_signal_between_two_runs_starts_none(said: Said) -> None:
    with said.runner("true") as runner, runner.passing_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedError):
            runner.start()


def test_handlers_are_as_before_and_what_was_ignored_stays_so_for_the_command_too(
    said: Said,
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with said.runner("sh", "-c", "kill -HUP $$; echo alive") as runner:
            with runner.passing_signals():
                runner.start()
                assert runner.wait(time.perf_counter()).exit_code == 0
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert said.text == "alive\n"


def test_ctrl_c_reaches_the_command_no_more_than_once_each_time_and_ends_the_trial() -> None:
    """The terminal sends it to the whole process group: to pass it on would be a second one."""
    words = [sys.executable, "-m", "tests.host.measuring.at_terminal"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    said = done.stdout.replace("^C", "").split("\n")
    assert (said[0], said[2]) == ("ready", "ended by SIGINT")
    assert 1 <= int(said[1].removeprefix("told ")) <= PRESSES, "a busy machine may merge some"
