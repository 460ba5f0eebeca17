"""A running agent's configuration: what a change of the file brings, and what it doesn't."""

import os
import shutil
from pathlib import Path

import pytest

from numa_agent.config import ConfigError
from numa_agent.config.reload import Reload, Reloaded
from numa_agent.config.settings import BY_KEY
from tests.config.files import written


class Volume:
    """A ConfigMap's volume as kubelet keeps it.

    A folder of the time with the files, the symlink `..data` to it, and a symlink through that for
    each file. A new state is a new folder, to which `..data` is renamed over
    (https://github.com/kubernetes/kubernetes/blob/master/pkg/volume/util/atomic_writer.go).
    """

    def __init__(self, folder: Path, content: str) -> None:
        self._folder, self._count = folder, 0
        self.path = folder / "config.yaml"
        self.swap(content)
        self.path.symlink_to("..data/config.yaml")

    def swap(self, content: str | None) -> None:
        """Put in place a state with this file, or without it."""
        old = self._folder / f"..2026_{self._count}"
        self._count += 1
        new = self._folder / f"..2026_{self._count}"
        new.mkdir()
        if content is not None:
            (new / "config.yaml").write_text(content)
        temporary = self._folder / "..data_tmp"
        temporary.symlink_to(new.name)
        temporary.rename(self._folder / "..data")
        if old.exists():
            shutil.rmtree(old)


def settled(reload: Reload) -> Reloaded:
    """What the change brought, when it is the same at two looks."""
    found = reload.look() or reload.look()
    assert found is not None
    return found


class Counted(type(Path())):  # type: ignore[misc]
    """A path that counts how often the system is asked about it."""

    asked = 0

    def __fspath__(self) -> str:
        type(self).asked += 1
        return str(super().__fspath__())


def test_without_a_change_there_is_nothing_to_tell_and_the_system_is_asked_once(
    tmp_path: Path,
) -> None:
    reload = Reload(Counted(written(tmp_path, "takeover: on\n")), {}, {})
    before = Counted.asked
    assert [reload.look() for _ in range(3)] == [None] * 3
    assert Counted.asked - before == 3
    assert not reload.pending


def test_a_swapped_configmap_is_taken_at_the_next_look(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "scheduler: ack\n")
    reload = Reload(volume.path, {}, {})
    volume.swap("scheduler: ack\ntakeover: on\npassSeconds: 5\n")
    found = reload.look()
    assert found == Reloaded(config=reload.config, changed=("takeover", "passSeconds"))
    assert (reload.config.takeover, reload.config.pass_seconds) == (True, 5)
    assert reload.look() is None


def test_a_swap_that_changes_no_setting_says_so(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "scheduler: ack\n")
    reload = Reload(volume.path, {}, {})
    before = reload.config
    volume.swap("# the same\nscheduler: ack\n")
    assert reload.look() == Reloaded(config=before)


def test_what_needs_a_restart_stays_and_is_named_until_it_is_as_before(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "scheduler: ack\nmetrics: 127.0.0.1:9316\n")
    reload = Reload(volume.path, {}, {})
    volume.swap("scheduler: koordinator\nmems: off\nsharedPods: leave\n")
    found = reload.look()
    assert found is not None
    assert found.changed == ("sharedPods",)
    assert found.restart == ("scheduler", "mems", "metrics")
    assert (found.config.scheduler, found.config.mems) == ("ack", "with-cpus")
    assert found.config.metrics == "127.0.0.1:9316"
    assert not found.config.shared_pods
    volume.swap("scheduler: ack\nmetrics: 127.0.0.1:9316\n")
    found = reload.look()
    assert found is not None
    assert (found.changed, found.restart) == (("sharedPods",), ())


def test_a_new_file_with_mistakes_changes_nothing_and_each_is_named_once(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "takeover: on\n")
    reload = Reload(volume.path, {}, {})
    before = reload.config
    volume.swap("takeover: off\ntakover: off\nmems: x\n")
    found = reload.look()
    assert found is not None
    assert found.config is before is reload.config
    assert [each.removeprefix(f"{volume.path}:") for each in found.mistakes] == [
        "2:1: unknown key takover: did you mean takeover?",
        "3:7: mems must be with-cpus, off or migrate, not 'x'",
    ]
    assert (found.changed, found.restart) == ((), ())
    assert reload.look() is None
    volume.swap("takeover: on\n")
    assert reload.look() == Reloaded(config=before)


@pytest.mark.parametrize(
    "content", ["a: [", "\0", "text", "x: 1", "[" * 5000, "#" * 100_000, "a: 1\n---\n", "\t"]
)
def test_no_new_content_raises(content: str, tmp_path: Path) -> None:
    volume = Volume(tmp_path, "takeover: on\n")
    reload = Reload(volume.path, {}, {})
    volume.swap(content)
    found = reload.look()
    assert found is not None
    assert found.mistakes
    assert found.config.takeover


def test_a_flag_still_comes_before_the_new_file(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "nodeName: a\n")
    reload = Reload(volume.path, {"nodeName": "flag"}, {"NODE_NAME": "env"})
    volume.swap("nodeName: b\ntakeover: on\n")
    found = reload.look()
    assert found is not None
    assert (found.changed, found.restart) == (("takeover",), ())
    assert found.config.node_name == "flag"


def test_a_file_that_is_gone_is_told_once_and_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "takeover: on\n")
    reload = Reload(path, {}, {})
    path.unlink()
    assert reload.look() is None
    assert reload.pending
    found = reload.look()
    assert found is not None
    assert found.mistakes == (f"{path}: can't be read: No such file or directory",)
    assert found.config.takeover
    assert reload.look() is None
    written(tmp_path, "takeover: off\n")
    assert reload.look() is None
    found = reload.look()
    assert found is not None
    assert (found.mistakes, found.changed) == ((), ("takeover",))


def test_a_key_taken_out_of_the_configmap_is_told_and_changes_nothing(tmp_path: Path) -> None:
    volume = Volume(tmp_path, "takeover: on\n")
    reload = Reload(volume.path, {}, {})
    volume.swap(None)
    assert reload.look() is None
    found = reload.look()
    assert found is not None
    assert "No such file" in found.mistakes[0]
    assert found.config.takeover


def test_a_file_that_is_half_written_isn_t_taken_though_its_half_is_valid(tmp_path: Path) -> None:
    path = written(tmp_path, "sharedPods: leave\ntakeover: on\n")
    reload = Reload(path, {}, {})
    with path.open("w") as half:
        # Emptied: every default would be in force.
        assert reload.look() is None
        half.write("sharedPods: leave\n")
        half.flush()
        assert reload.look() is None
        half.write("passSeconds: 7\n")
        half.flush()
        assert reload.look() is None
    assert reload.pending
    found = reload.look()
    assert found is not None
    assert found.changed == ("takeover", "passSeconds")
    assert not reload.config.shared_pods


def test_a_file_of_the_same_length_and_age_in_its_place_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path, "mems: off \n")
    reload = Reload(path, {}, {})
    before = path.stat()
    other = tmp_path / "other"
    other.write_text("events: off")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)
    found = reload.look()
    assert found is not None
    assert (found.changed, found.restart) == (("events",), ("mems",))


def test_a_link_that_leads_elsewhere_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("takeover: on\n")
    (tmp_path / "b").write_text("takeover: off\n")
    link = tmp_path / "link"
    link.symlink_to("a")
    reload = Reload(link, {}, {})
    (tmp_path / "new").symlink_to("b")
    (tmp_path / "new").rename(link)
    found = reload.look()
    assert found is not None
    assert found.changed == ("takeover",)


@pytest.mark.timeout(30)
def test_what_is_no_file_any_more_isn_t_waited_for(tmp_path: Path) -> None:
    path = written(tmp_path, "takeover: on\n")
    reload = Reload(path, {}, {})
    path.unlink()
    os.mkfifo(path)
    assert settled(reload).mistakes == (f"{path}: isn't a regular file any more",)
    path.unlink()
    path.mkdir()
    assert settled(reload).config.takeover
    path.rmdir()
    path.symlink_to(path.name)
    assert "Too many levels" in settled(reload).mistakes[0]


def test_a_pipe_is_read_once_and_not_followed() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"takeover: on\n")
        os.close(writing)
        reload = Reload(f"/dev/fd/{reading}", {}, {})
    finally:
        os.close(reading)
    assert reload.config.takeover
    assert [reload.look(), reload.look()] == [None, None]


def test_without_a_file_nothing_is_followed() -> None:
    reload = Reload(None, {"hostRoot": "/host"}, {})
    assert reload.look() is None
    assert not reload.pending


def test_the_first_reading_raises_its_mistakes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        Reload(tmp_path / "none", {}, {})
    with pytest.raises(ConfigError, match="must not be empty"):
        Reload("", {}, {})


def test_every_setting_is_either_taken_over_or_named(tmp_path: Path) -> None:
    other = (
        "\n".join(
            f"{key}: {'57' if 'Seconds' in key else each.example or each.words[-1:] or '/x'}"
            for key, each in BY_KEY.items()
        )
        .replace("('", "")
        .replace("',)", "")
    )
    volume = Volume(tmp_path, "")
    reload = Reload(volume.path, {}, {})
    volume.swap(other.replace("/run/numa-agent/lock", "/run/other"))
    found = reload.look()
    assert found is not None
    assert found.mistakes == ()
    live = {key for key, each in BY_KEY.items() if each.live}
    assert {*found.changed} == live
    assert {*found.restart} == {*BY_KEY} - live
