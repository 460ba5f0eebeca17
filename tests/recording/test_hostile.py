"""A folder that isn't a machine's, or is one made to harm: bounded, and nothing of others."""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numa_agent.config import ConfigError
from numa_agent.core.errors import SourceError
from numa_agent.core.recording import manifest
from numa_agent.core.recording.manifest import MOST_LEFT_OUT, LeftOut, Recorded
from tests.recording.machines import GROUPS, copied, pod_group, put
from tests.recording.replay import answers, mapped_back, record

OUTSIDE = "belongs-to-another"
CPU = "sys/devices/system/cpu"
PODS = f"{GROUPS}/kubepods.slice"
READ = (
    f"{CPU}/online",
    "sys/devices/system/node/node0/meminfo",
    "proc/cpuinfo",
    "proc/self/mountinfo",
    "var/lib/kubelet/config.yaml",
    "var/lib/kubelet/cpu_manager_state",
    "answers/pods.json",
    f"{GROUPS}/kubepods.slice/cpuset.cpus",
)
"""One file of each source."""
UNSAID = {"proc/self/mountinfo"}
"""Where what isn't there is looked for elsewhere."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copied("mig-mixed", tmp_path / "machine")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def make(kind: str, path: Path, outside: Path) -> None:
    path.unlink()
    if kind == "a link by an absolute path":
        path.symlink_to(outside)
    elif kind == "a link upwards":
        path.symlink_to(os.path.relpath(outside, path.parent))
    elif kind == "a loop":
        path.symlink_to(path.name)
    elif kind == "a fifo":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(path.parent)
            server.bind(path.name)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 10 << 30)


KINDS = {
    "a link by an absolute path": {"a link that leads out of the root", "a link, which is never"},
    "a link upwards": {"a link that leads out of the root", "a link, which is never"},
    "a loop": {"a loop of links", "a link, which is never"},
    "a fifo": {"a fifo, not a file"},
    "a socket": {"a socket, not a file"},
    "a folder": {"a directory, not a file"},
    "ten sparse gigabytes": {"larger than"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", READ)
def test_what_is_no_plain_file_below_the_root_is_left_out_with_the_reason(
    kind: str, read: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outside = tmp_path / "outside"
    outside.write_text(OUTSIDE)
    make(kind, root / read, outside)
    with within(20):
        made = record(root, tmp_path, keep_names=True)
    assert OUTSIDE.encode() not in made.raw
    assert len(made.raw) < 8 << 20
    why = made.left_out.get(read, "")
    assert read in UNSAID or any(why.startswith(each) for each in KINDS[kind]), why


@pytest.mark.parametrize(
    "folder", [CPU, f"{CPU}/cpu0", "sys/bus/pci/devices", PODS, "var/lib/kubelet", "answers"]
)
def test_a_folder_that_is_a_link_out_is_not_gone_into(
    folder: str, root: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (root / folder).rename(elsewhere)
    for path in list(elsewhere.rglob("*")):
        if path.is_file() and not path.is_symlink():
            path.write_text(OUTSIDE)
    (root / folder).symlink_to(elsewhere)
    made = record(root, tmp_path, keep_names=True)
    assert OUTSIDE.encode() not in made.raw
    assert not [path for path in made.paths if path.startswith(f"{folder}/online")]


def test_a_pci_function_s_link_out_is_left_out(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/class", OUTSIDE)
    links = root / "sys/bus/pci/devices"
    (links / "0000:ff:00.0").symlink_to(tmp_path / "elsewhere")
    (links / "0000:ff:00.1").symlink_to("../../../../../elsewhere")
    (links / "0000:ff:00.2").symlink_to("0000:ff:00.2")
    (links / "0000:ff:00.3").symlink_to("../../../devices/nothing")
    (links / "no-address").symlink_to("../../../devices")
    made = record(root, tmp_path)
    assert OUTSIDE.encode() not in made.raw
    assert [made.left_out[f"sys/bus/pci/devices/0000:ff:00.{each}"] for each in range(4)] == [
        "a link that leads out of the root",
        "a link that leads out of the root",
        "a loop of links",
        "a link that leads nowhere",
    ]
    assert "no PCI address" in made.left_out.values()
    assert b"no-address" not in made.raw


def test_what_may_not_be_read_is_left_out(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = copied("mig-mixed", Path(folder) / "machine")
        for path in READ:
            (root / path).chmod(0)
        os.seteuid(65534)
        try:
            made = record(root, Path(tempfile.mkdtemp()), keep_names=True)
        finally:
            os.seteuid(0)
    found = {path: made.left_out.get(path) for path in READ if path not in UNSAID}
    assert set(found.values()) == {"permission denied"}


def test_a_hundred_thousand_names_are_bounded(root: Path, tmp_path: Path) -> None:
    for number in range(100_000):
        os.mknod(root / CPU / f"zz{number}")
    for number in range(5_000):
        (root / PODS / f"kubepods-{number}.slice").mkdir()
    with within(60):
        made = record(root, tmp_path)
    assert "names in it" in made.left_out[CPU]
    assert "names in it" in made.left_out[PODS]
    assert len(made.raw) < 64 << 20


def test_cgroups_in_cgroups_are_bounded(root: Path, tmp_path: Path) -> None:
    container = next(pod_group(root).glob("*.scope"))
    deep = container
    for _ in range(60):
        deep = deep / "x"
        deep.mkdir()
    wide = next(each for each in pod_group(root).glob("*.scope"))
    for number in range(600):
        (wide / f"y{number}").mkdir()
    with within(30):
        made = record(root, tmp_path)
    assert {"cgroups too deep in it", "over 512 cgroups in a container"} <= set(
        made.left_out.values()
    )


def test_names_that_are_no_text_are_passed_by(root: Path, tmp_path: Path) -> None:
    for folder in (CPU, f"{CPU}/cpu0", PODS, "sys/bus/pci/devices", "answers", "proc"):
        os.mkdir(os.fsencode(root / folder) + b"/cpu\xff\xfe\n")
    net = next(root.glob("sys/devices/pci*/**/net"))
    os.mkdir(os.fsencode(net) + b"/\xff")
    os.mkdir(os.fsencode(net) + "/ü\n".encode())
    made = record(root, tmp_path)
    assert made.raw.isascii() or b"\xff" not in made.raw


STAND_INS = {
    "answers/pods.json": ("", "{", "[]", "nul", '{"items": ' + "[" * 100_000),
    "answers/nvml.json": ("{}", '{"format": "numa-agent.nvml/v1", "gpus": 3}', "x"),
    "answers/node.json": ("{}", "[" * 100_000, "1"),
    "var/lib/kubelet/config.yaml": (
        *("", "[]", "a: 1\na: 2", "kind: Other", "a: [", "!!python/object:os.system {}"),
    ),
    "var/lib/kubelet/cpu_manager_state": (
        *("", "{}", '{"policyName": 1}', '{"policyName": "static", "defaultCpuSet": "9-1"}'),
        '{"policyName": "static", "entries": {"x": 3}}',
        '{"policyName": "static", "data": "{"}',
    ),
    "var/lib/kubelet/memory_manager_state": ("[]", '{"policyName": "Static", "machineState": 1}'),
}
DAMAGES = [(path, text) for path, texts in STAND_INS.items() for text in texts]


@pytest.mark.parametrize(("path", "text"), DAMAGES, ids=lambda each: each[:40])
def test_what_a_pass_can_t_read_it_can_t_read_of_the_recording(
    path: str, text: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / path).write_text(text)
    made = record(root, tmp_path)
    commands = {"plan": ("plan", "-o", "json"), "render": ("render", "-o", "json")}
    expected = answers(root, capsys, commands)
    found = answers(made.folder, capsys, commands)
    assert {key: failures(each) for key, each in found.items()} == {
        key: failures(each) for key, each in expected.items()
    }


def failures(answer: str) -> tuple[str, int]:
    """An answer's exit code, and how many sources failed."""
    return answer.partition("\n")[0], answer.count("failed: ")


KERNELS: tuple[Callable[[Path], object], ...] = (
    lambda root: (root / CPU / "online").write_text(""),
    lambda root: (root / CPU / "online").write_text("0-3"),
    lambda root: (root / CPU / "online").write_bytes(b"\xff\xfe\n"),
    lambda root: (root / CPU / "online").write_bytes(b"0-\0007\n"),
    lambda root: (root / CPU / "cpu0/topology/core_cpus_list").write_text("nonsense\n"),
    lambda root: (root / CPU / "isolated").write_text("7-1\n"),
    lambda root: (root / "sys/devices/system/node/node0/distance").write_text("ten\n"),
    lambda root: (root / "sys/devices/system/node/node0/meminfo").write_text("nothing\n"),
    lambda root: (root / "sys/devices/system/node/node0/cpulist").unlink(),
    lambda root: (root / "proc/cpuinfo").unlink(),
    lambda root: (pod_group(root) / "cpuset.cpus").write_text("a"),
    lambda root: (pod_group(root) / "cpuset.cpus.effective").unlink(),
)


@pytest.mark.parametrize("damage", range(len(KERNELS)))
def test_a_kernel_s_file_that_is_damaged_is_so_in_the_recording(
    damage: int, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    KERNELS[damage](root)
    made = record(root, tmp_path, keep_names=True)
    assert answers(made.folder, capsys) == answers(root, capsys)
    hidden = record(root, tmp_path / "hidden")
    found = answers(hidden.folder, capsys)
    assert {
        key: without_words(mapped_back(each, hidden.names)) for key, each in found.items()
    } == {key: without_words(each) for key, each in answers(root, capsys).items()}


def without_words(answer: str) -> str:
    """An answer without what it quotes, of which the recording has an x for each letter."""
    for quoted in ("nonsense", "ten", "xxxxxxxx", "xxx"):
        answer = answer.replace(f"'{quoted}'", "QUOTED")
    return answer


def test_it_ends_when_its_time_is_up(root: Path, tmp_path: Path) -> None:
    with within(20):
        made = record(root, tmp_path, seconds=0)
    assert made.left_out[CPU] == "the time was up"
    assert made.text("MANIFEST")


def test_it_stays_below_its_limit_and_says_what_it_left_out(tmp_path: Path) -> None:
    made = record(copied("two-socket-8gpu", tmp_path / "machine"), tmp_path, limit=1 << 20)
    assert len(made.raw) <= 1 << 20
    assert "over the limit of --limit" in made.left_out.values()
    text = made.text("MANIFEST")
    assert f"left out: {len(made.left_out)}" in text
    assert text.count("over the limit") <= MOST_LEFT_OUT + 1
    assert made.json("answers/pods.json")["items"]


def test_a_limit_that_holds_nothing_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least 1048576 bytes"):
        record(root, tmp_path, limit=1000)


def test_a_root_that_isn_t_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="--host-root"):
        record(tmp_path / "nowhere", tmp_path)


@pytest.mark.parametrize("point", ["/", "/../elsewhere", "/sys/fs/cgroup/../../.."])
def test_a_mount_that_is_nowhere_in_the_root_is_left_out(
    point: str, root: Path, tmp_path: Path
) -> None:
    for folder in (root, tmp_path / "elsewhere"):
        put(folder / "cgroup.controllers", "cpuset\n")
        put(folder / "kubepods.slice/cpuset.cpus", OUTSIDE)
    put(root / "proc/self/mountinfo", f"26 22 0:24 / {point} rw - cgroup2 cgroup2 rw\n")
    made = record(root, tmp_path, keep_names=True)
    assert OUTSIDE.encode() not in made.raw
    assert "sys/fs/cgroup" in made.left_out


def test_long_names_count_towards_the_limit(root: Path, tmp_path: Path) -> None:
    container = next(pod_group(root).glob("*.scope"))
    for number in range(500):
        put(container / f"{'ü' * 100}{number}" / "cpuset.cpus", "0\n")
    links = root / "sys/bus/pci/devices"
    deep = "/".join(f"{number:04x}:00:00.0" for number in range(60))
    for number in range(32):
        put(root / f"sys/devices/pci0000:00/{deep}/0000:aa:{number:02x}.0/class", "0x060400\n")
        (links / f"0000:aa:{number:02x}.0").symlink_to(
            f"../../../devices/pci0000:00/{deep}/0000:aa:{number:02x}.0"
        )
    made = record(root, tmp_path, keep_names=True, limit=1 << 20)
    assert len(made.raw) <= 1 << 20
    assert "over the limit of --limit" in made.left_out.values()


def make_deep(root: Path, above: str, depth: int) -> str:
    """Directories in directories, more than one path can name; their path."""
    fd = os.open(root / above, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(depth):
            os.mkdir("a", dir_fd=fd)
            below = os.open("a", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    finally:
        os.close(fd)
    return "/".join([above, *["a"] * depth]).strip("/")


def test_a_path_of_a_thousand_names_is_bounded(root: Path, tmp_path: Path) -> None:
    address = "0000:ff:00.0"
    deep = make_deep(root, "sys/devices", 1500)
    try:
        (root / "sys/bus/pci/devices" / address).symlink_to(
            f"../../../{deep.removeprefix('sys/')}"
        )
        made = record(root, tmp_path)
        assert made.left_out[f"sys/bus/pci/devices/{address}"] == "over 128 names deep"
        mounted = f"26 22 0:24 / /{deep} rw - cgroup2 cgroup2 rw\n"
        put(root / "proc/self/mountinfo", mounted)
        assert record(root, tmp_path / "mounted").text("MANIFEST")
    finally:
        # Deeper than pytest can go, where it removes what is left of old tests.
        subprocess.run(["rm", "-rf", root / "sys/devices/a"], check=True)


FORGED = "x\n7\tnumbers\tetc"


@pytest.mark.parametrize("keep_names", [True, False])
def test_no_name_makes_a_line_of_the_manifest(
    keep_names: bool, root: Path, tmp_path: Path
) -> None:
    put(root / f"sys/devices/{FORGED}/0000:ff:00.0/class", "0x030000\n")
    links = root / "sys/bus/pci/devices"
    (links / "0000:ff:00.0").symlink_to(f"../../../devices/{FORGED}/0000:ff:00.0")
    made = record(root, tmp_path, keep_names=keep_names)
    assert (
        made.left_out["sys/bus/pci/devices/0000:ff:00.0"] == "a link to a name that can't be shown"
    )
    put(root / "var/lib/kubelet/config.yaml", f"cgroupRoot: {json.dumps('/' + FORGED)}\n")
    put(root / GROUPS / FORGED / "kubepods/cpuset.cpus", "0\n")
    put(root / FORGED / "cgroup.controllers", "cpuset\n")
    point = FORGED.replace("\n", "\\012").replace("\t", "\\011")
    again = record(root, tmp_path / "groups", keep_names=keep_names)
    put(root / "proc/self/mountinfo", f"26 22 0:24 / /{point} rw - cgroup2 cgroup2 rw\n")
    mounted = record(root, tmp_path / "mounted", keep_names=keep_names)
    for each in (made, again, mounted):
        assert "7\tnumbers\tetc" not in each.text("MANIFEST").split("\n")
        assert not [path for path in each.paths if not path.isprintable()]


def test_the_manifest_shows_a_name_on_its_own_line() -> None:
    text = manifest.render(
        "1", [Recorded(FORGED, 1, "r")], [LeftOut(FORGED, "why")], keep_names=True
    )
    assert f"1\tr\t{ascii(FORGED)[1:-1]}\n" in text
    assert f"{ascii(FORGED)[1:-1]}: why\n" in text
