"""The file of the agent's own decisions on a real disk."""

import os
import resource
from pathlib import Path

import pytest

from numa_agent.core.assigner import Kept
from numa_agent.core.errors import SourceError
from numa_agent.host.decisions import DecisionsFile
from tests.machine_tree import uid

KEPT = {uid(1): Kept(pod="shop/p1", nodes=frozenset({0}), cpus=frozenset({0, 1}))}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run/numa-agent/decisions.json"


def test_what_is_kept_is_there_after_a_restart(file: Path) -> None:
    assert DecisionsFile(file).load() is None
    DecisionsFile(file).save(KEPT)
    assert DecisionsFile(file).load() == KEPT
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["decisions.json"]


def test_a_broken_file_is_set_aside_and_named_once(file: Path) -> None:
    store = DecisionsFile(file)
    store.save(KEPT)
    file.write_text(file.read_text().replace("shop", "shoe"))
    with pytest.raises(SourceError, match=r"digest isn't .* pods keep the CPUs"):
        store.load()
    assert store.set_aside() == f"it is {file}.broken now"
    assert store.load() is None
    assert store.set_aside() == "it couldn't be set aside (No such file or directory)"
    assert file.with_name("decisions.json.broken").exists()


def test_what_is_forgotten_is_gone_and_what_never_was_is_no_error(file: Path) -> None:
    store = DecisionsFile(file)
    store.forget()
    store.save(KEPT)
    store.forget()
    assert store.load() is None
    assert not [*file.parent.iterdir()]


def test_a_file_that_cannot_be_removed_is_named(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(SourceError, match=r"decisions\.json: .*; remove it, or an agent that"):
        DecisionsFile(file).forget()


def test_a_crash_while_it_is_written_leaves_the_old_one(file: Path) -> None:
    store = DecisionsFile(file)
    store.save(KEPT)
    file.with_name("decisions.json.new").write_text("{half")
    assert store.load() == KEPT
    store.save({})
    assert store.load() == {}


def test_a_full_disk_costs_the_file_and_not_what_was_there(file: Path) -> None:
    store = DecisionsFile(file)
    store.save(KEPT)
    many = {uid(number): KEPT[uid(1)] for number in range(200)}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses what is over it, once SIGXFSZ is ignored, as Python does from its start.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(SourceError, match="File too large"):
            store.save(many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.load() == KEPT


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(SourceError, match=r"decisions .*: Not a directory"):
        DecisionsFile(tmp_path / "run/numa-agent/decisions.json").save(KEPT)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_nothing_but_a_file_is_read_or_waited_for(file: Path, kind: str) -> None:
    file.parent.mkdir(parents=True)
    if kind == "link":
        file.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(SourceError, match="decisions"):
        DecisionsFile(file).load()


def test_a_file_of_another_s_size_is_not_taken_in(file: Path) -> None:
    file.parent.mkdir(parents=True)
    with file.open("wb") as huge:
        huge.truncate(1 << 40)
    with pytest.raises(SourceError, match="isn't JSON"):
        DecisionsFile(file).load()


def test_a_link_in_the_way_is_not_written_through(file: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    file.parent.mkdir(parents=True)
    file.with_name("decisions.json.new").symlink_to(victim)
    with pytest.raises(SourceError, match="decisions"):
        DecisionsFile(file).save(KEPT)
    assert victim.read_text() == "precious"
