"""Disks that are full, a log that nobody reads, and a cgroup mount that can't be written."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.chaos.daemon import AT_ONCE, ENDS_SECONDS, Daemon, eventually
from tests.chaos.machine import ALL_CPUS, holds, settle
from tests.chaos.node import FIRST, SECOND, Node

pytestmark = pytest.mark.apiserver


def mounting(script: str, *arguments: object) -> list[str]:
    """What runs a command after a script that mounts things, which nobody else sees."""
    alone = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("to mount something needs root's right to")
    words = [str(each) for each in arguments]
    shell = f'set -e; count={len(words)}; {script}; shift $count; exec "$@"'
    return [*alone, "sh", "-c", shell, "sh", *words]


def inside(agent: Daemon, path: Path) -> Path:
    """A path as the agent sees it, with what was mounted for it alone."""
    return Path(f"/proc/{agent.process.pid}/root{path}")


def enter(agent: Daemon, *command: object) -> None:
    """Run a command with the agent's mounts."""
    words: Sequence[str] = [str(each) for each in command]
    enter = ["nsenter", "--target", str(agent.process.pid), "--mount"]
    subprocess.run([*enter, *words], check=True, capture_output=True)


def test_a_log_on_a_full_disk_stops_nothing_and_is_told_where_people_probe(node: Node) -> None:
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.agent(output=Path("/dev/full"))
    eventually(agent.ready)
    assert cpus.read_text() == f"{FIRST}\n"
    node.until(lambda: agent.names("the log can't be written: No space left on device"))
    settle(cpus, ALL_CPUS)
    eventually(holds(cpus, FIRST), AT_ONCE)
    late = node.machine.start(node.pod("b", SECOND))
    eventually(holds(late, SECOND), AT_ONCE)
    eventually(lambda: node.available() == ["110", "64"])
    assert agent.ready()
    # A change of the settings is said as well, and a mistake in them.
    node.settings.change(topologyPolicy="strict")
    eventually(lambda: agent.page("/readyz")[0] == 503)
    agent.check_running()
    assert agent.ends() < ENDS_SECONDS
    assert agent.process.returncode == 0


def test_a_log_is_written_again_once_there_is_room(node: Node) -> None:
    folder = node.folder / "log"
    folder.mkdir()
    log, filler = folder / "log", folder / "filler"
    before = mounting(
        'mount -t tmpfs -o size=16k none "$1"; cat /dev/zero > "$2" 2>/dev/null || true;'
        ' exec >> "$3" 2>&1',
        *(folder, filler, log),
    )
    agent = node.agent(before=before)
    eventually(agent.ready)
    node.until(lambda: agent.names("the log can't be written: No space left on device"))
    inside(agent, filler).unlink()
    cpus = node.machine.start(node.pod("a", FIRST))
    eventually(holds(cpus, FIRST), AT_ONCE)
    eventually(lambda: FIRST in inside(agent, log).read_text())
    node.until(agent.quiet)


def test_a_log_that_nobody_reads_any_more_stops_nothing(node: Node) -> None:
    reading, writing = os.pipe()
    agent = node.agent(output=Path(f"/dev/fd/{writing}"))
    os.close(writing)
    eventually(agent.ready)
    os.close(reading)
    cpus = node.machine.start(node.pod("a", FIRST))
    eventually(holds(cpus, FIRST), AT_ONCE)
    eventually(lambda: agent.names("the log can't be written: Broken pipe"))
    late = node.machine.start(node.pod("b", SECOND))
    eventually(holds(late, SECOND), AT_ONCE)
    agent.check_running()
    assert agent.ends() < ENDS_SECONDS
    assert agent.process.returncode == 0


def test_a_lock_on_a_full_disk_is_held_all_the_same(node: Node) -> None:
    folder = node.machine.lock.parent
    folder.mkdir(parents=True)
    script = (
        'mount -t tmpfs -o size=16k none "$1"; cat /dev/zero > "$1/filler" 2>/dev/null || true'
    )
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.agent(before=mounting(script, folder))
    eventually(agent.quiet)
    assert cpus.read_text() == f"{FIRST}\n"
    assert inside(agent, node.machine.lock).read_text() == ""
    joining = ["nsenter", "--target", str(agent.process.pid), "--mount", "--wd=."]
    second = node.agent(before=joining)
    assert second.wait() == 2
    assert "another numa-agent runs on this node" in second.said()
    assert "(pid unknown where it runs)" in second.said()


def test_cgroups_that_can_not_be_written_are_told_once_and_bound_when_they_can(
    node: Node,
) -> None:
    cgroups = node.machine.cgroups
    read_only = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'
    cpus = node.machine.start(node.pod("a", FIRST))
    agent = node.agent(before=mounting(read_only, cgroups))
    said = f"no CPU is given out: {cgroups}: mounted read-only"
    eventually(lambda: agent.names(said))
    assert cpus.read_text() == f"{ALL_CPUS}\n"
    # Never yet did it look at a container: a rollout is to stop here.
    assert agent.page("/readyz")[0] == 503
    assert agent.page("/healthz")[0] == 200
    assert agent.says(said)
    # Who only looks can publish: the assignment counts whether it is in force or not.
    eventually(lambda: node.available() == ["110", "88"])
    enter(agent, "mount", "-o", "remount,bind,rw", cgroups)
    node.until(holds(cpus, FIRST))
    node.until(agent.quiet)
    enter(agent, "mount", "-o", "remount,bind,ro", cgroups)
    settle(cpus, ALL_CPUS)
    node.until(lambda: agent.names(said))
    assert agent.ready()
    enter(agent, "mount", "-o", "remount,bind,rw", cgroups)
    node.until(holds(cpus, FIRST))
    node.until(agent.quiet)
