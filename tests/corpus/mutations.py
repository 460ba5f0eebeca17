"""Damage to a recorded machine's files: what there is, how it is drawn, done and undone.

Nothing is ever written into a file that was there: the damaged name is moved aside and something
else put in its place, so a machine may be copied by hard links and always comes back whole.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hypothesis import strategies as st

from numa_agent.core import cpulist
from numa_agent.core.topology import Topology, TopologyWarning
from numa_agent.host.sysfs import read_topology
from numa_agent.host.sysfs.cpus import read_cpus
from numa_agent.host.sysfs.files import Directory
from numa_agent.host.sysfs.nodes import read_nodes
from numa_agent.host.sysfs.pci import read_devices, read_gpu_memory_nodes
from numa_agent.host.sysfs.sets import CpuSetReader

_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class Becomes(StrEnum):
    """What is found where a file was."""

    NOTHING = "nothing"
    CONTENT = "a file with other content"
    DIRECTORY = "an empty directory"
    LOOP = "a symbolic link to itself"
    DANGLING = "a symbolic link to nothing"
    FIFO = "a FIFO that nobody writes"
    TWIN = "a copy of another directory"


@dataclass(frozen=True, slots=True)
class Damage:
    """One path of a machine, relative to its root, and what it becomes.

    `content` are the new bytes, for TWIN the path of the directory copied.
    """

    path: str
    becomes: Becomes
    content: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A copy of a recorded machine, and what of it can be damaged, as paths from its root.

    Each group has the paths of one kind (`cpuN/online` of every N), so that drawing a kind first
    gives the rare files the same chance as the many.
    """

    root: Path
    map: Topology
    """The map before any damage."""
    read: Mapping[str, Sequence[str]]
    """Files that the map opens."""
    beside: Mapping[str, Sequence[str]]
    """Other files next to those: what it may fall back to."""
    directories: Mapping[str, Sequence[str]]
    """Directories that hold those."""

    def content(self, path: str) -> bytes:
        """The bytes of a file as they are now."""
        return (self.root / path).read_bytes()


def copy_machine(recorded: Path, to: Path) -> Machine:
    """Copy a machine by hard links and find out what the map reads of it."""
    shutil.copytree(recorded, to, symlinks=True, copy_function=os.link)
    opened = note_reads(to).opened
    read = [path for path in sorted(opened) if (to / path).is_file()]
    places = sorted({parent for path in read for parent in _parents(path)})
    beside = [
        f"{place}/{entry.name}"
        for place in places
        for entry in sorted((to / place).iterdir())
        if entry.is_file() and f"{place}/{entry.name}" not in opened
    ]
    return Machine(
        root=to,
        map=read_topology(to),
        read=_by_kind(read),
        beside=_by_kind(beside),
        directories=_by_kind(places),
    )


def _parents(path: str) -> Iterable[str]:
    """The directories of a path, without the ones that every machine file is in."""
    parents = [str(parent) for parent in Path(path).parents]
    return [parent for parent in parents if parent.count("/") >= 3]


def _by_kind(paths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Paths by what is left of them without the numbers."""
    kinds: dict[str, list[str]] = {}
    for path in paths:
        kind = re.sub(r"\d+", "N", _PCI_ADDRESS.sub("ADDRESS", path))
        kinds.setdefault(kind, []).append(path)
    return kinds


@contextmanager
def damaged(root: Path, damages: Iterable[Damage]) -> Iterator[None]:
    """The machine with these damages done one after the other, whole again afterwards.

    A damage to something that an earlier one took away is none.
    """
    with ExitStack() as undo:
        for damage in damages:
            place = Path(os.path.realpath((root / damage.path).parent)) / Path(damage.path).name
            if not place.is_relative_to(os.path.realpath(root)):
                raise ValueError(f"{damage.path} is outside of the machine's copy")
            if os.path.lexists(place):
                _set_aside(place, root.with_name(root.name + ".aside"), undo)
                _put(place, damage, root / os.fsdecode(damage.content))
        yield


def _set_aside(place: Path, aside: Path, undo: ExitStack) -> None:
    aside.mkdir(exist_ok=True)
    kept = aside / str(len(os.listdir(aside)))
    place.rename(kept)

    def back() -> None:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        kept.rename(place)

    undo.callback(back)


def _put(place: Path, damage: Damage, twin: Path) -> None:
    match damage.becomes:
        case Becomes.CONTENT:
            place.write_bytes(damage.content)
        case Becomes.DIRECTORY:
            place.mkdir()
        case Becomes.LOOP:
            place.symlink_to(place.name)
        case Becomes.DANGLING:
            place.symlink_to("nothing-is-here")
        case Becomes.FIFO:
            os.mkfifo(place)
        case Becomes.TWIN if twin.is_dir():
            shutil.copytree(twin, place, symlinks=True, copy_function=os.link)


# --- How damage is drawn -------------------------------------------------------------------------

TEXTS = (
    *("", "\n", "0", "0\n", "1\n", "2\n", "-1\n", "0,\n", "3-1\n", "0-1\n", "1-2\n", "0,2\n"),
    *("0-3:1/2\n", "0-62:2\n", "0-9999\n", "65535\n", "65536\n", "0-65535\n", "4294967295\n"),
    *("99999999999999999999\n", "-9999999999\n", "all\n", "0x3\n", "0x030000\n", "\u0663\n"),
    *("1,00000003\n", "ffffffff\n", "00000000\n", "00000001\n", "00000006\n", "3,3\n"),
    *("10\n", "10 20\n", "20 10\n", "10 10 10 10\n", "255 256\n", "0 0\n", "16K\n", "1.5M\n"),
    *("999999999999G\n", "MemTotal:       0 kB\n", "Node 0 MemTotal:  999999999999999 kB\n"),
    *("processor\t: 1\nsiblings\t: 1\ncpu cores\t: 1\n", "Node:\t0\n", "Node:\t99999\n"),
)
"""Texts that kernels write, somewhere, and some that only look like it."""

LONG = 100_000
"""Bytes of a file that is too long: no file that we read is half of that."""

LOST = (Becomes.NOTHING, Becomes.DIRECTORY, Becomes.LOOP, Becomes.DANGLING, Becomes.FIFO)
"""What a file or directory becomes when its content is gone."""

_lists = st.frozensets(st.integers(0, 9), max_size=6).map(
    lambda cpus: cpulist.render(cpus).encode() + b"\n"
)
_plausible = st.sampled_from(TEXTS).map(str.encode) | _lists


def one_of_kind(groups: Mapping[str, Sequence[str]]) -> st.SearchStrategy[str]:
    """A path, each kind of path as likely as the other."""
    return st.sampled_from(sorted(groups)).flatmap(lambda kind: st.sampled_from(groups[kind]))


@st.composite
def contents(draw: st.DrawFn, original: bytes) -> bytes:
    """Bytes that may be found in a damaged file: cut, overwritten, another text, too many."""
    match draw(st.sampled_from(("text", "cut", "overwritten", "bytes", "long", "nul"))):
        case "cut":
            return original[: draw(st.integers(0, max(0, len(original) - 1)))]
        case "overwritten":
            start = draw(st.integers(0, len(original)))
            piece = draw(st.binary(min_size=1, max_size=8))
            return original[:start] + piece + original[start + len(piece) :]
        case "bytes":
            return draw(st.binary(max_size=40))
        case "long":
            unit = draw(st.sampled_from((original or b"\n", b"0,", b"0-65535,", b"\n", b"1\n")))
            return (unit * (LONG // len(unit) + 1))[:LONG]
        case "nul":
            return original + b"\0"
        case _:
            return draw(_plausible)


def obvious_damages(path: str, original: bytes) -> st.SearchStrategy[Damage]:
    """Damages of one file that no reader could miss: it is empty, cut, binary or no file at all.

    A file of several lines that was cut behind one of them isn't among them.
    """
    cut = st.integers(0, len(original)).map(lambda end: original[:end])
    content = st.one_of(
        st.just(b""),
        cut.filter(lambda content: not content.rstrip(b"\0").endswith(b"\n")),
        st.sampled_from((b"\xff\n", b"0\xc3\xa9\n", b"0\x001\n", b"\x00\xff")),
        st.sampled_from((b"0,", b"7", b"\n", b"0-65535,")).map(lambda unit: unit * LONG),
    )
    others = st.sampled_from((Becomes.DIRECTORY, Becomes.LOOP, Becomes.FIFO))
    return st.one_of(
        others.map(lambda becomes: Damage(path, becomes)),
        content.map(lambda content: Damage(path, Becomes.CONTENT, content)),
    )


@st.composite
def _of_a_file(draw: st.DrawFn, machine: Machine) -> tuple[Damage, ...]:
    """A file lost or changed, or two files exchanged."""
    rare = machine.beside and draw(st.integers(0, 3)) == 3
    path = draw(one_of_kind(machine.beside if rare else machine.read))
    becomes = draw(st.sampled_from((Becomes.CONTENT, *LOST, None)))
    if becomes is None:
        other = draw(one_of_kind(machine.read))
        return (
            Damage(path, Becomes.CONTENT, machine.content(other)),
            Damage(other, Becomes.CONTENT, machine.content(path)),
        )
    changed = becomes is Becomes.CONTENT
    return (Damage(path, becomes, draw(contents(machine.content(path))) if changed else b""),)


@st.composite
def _of_a_directory(draw: st.DrawFn, machine: Machine) -> tuple[Damage, ...]:
    """A directory lost, become a file, or the same as another of its kind."""
    paths = machine.directories[draw(st.sampled_from(sorted(machine.directories)))]
    path = draw(st.sampled_from(paths))
    others = [other for other in paths if other != path]
    becomes = draw(st.sampled_from((*LOST, Becomes.CONTENT, *([Becomes.TWIN] if others else []))))
    if becomes is Becomes.TWIN:
        return (Damage(path, becomes, os.fsencode(draw(st.sampled_from(others)))),)
    return (Damage(path, becomes, b"0\n"),)


@st.composite
def _of_a_kind(draw: st.DrawFn, machine: Machine) -> tuple[Damage, ...]:
    """All files of a kind gone, as on another kernel, or all of them the same."""
    paths = machine.read[draw(st.sampled_from(sorted(machine.read)))][:32]
    if draw(st.booleans()):
        return tuple(Damage(path, Becomes.NOTHING) for path in paths)
    content = draw(st.one_of(_plausible, st.sampled_from(paths).map(machine.content)))
    return tuple(Damage(path, Becomes.CONTENT, content) for path in paths)


@st.composite
def _contradictions(draw: st.DrawFn, machine: Machine) -> tuple[Damage, ...]:
    """A few files of one kind that each say something else, or nothing, as if all were well."""
    paths = machine.read[draw(st.sampled_from(sorted(machine.read)))][:8]
    chosen = draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4, unique=True))
    content = st.one_of(st.none(), _plausible, st.sampled_from(paths).map(machine.content))
    return tuple(
        Damage(path, Becomes.NOTHING) if new is None else Damage(path, Becomes.CONTENT, new)
        for path, new in ((path, draw(content)) for path in chosen)
    )


def damages(machine: Machine, most: int = 4) -> st.SearchStrategy[tuple[Damage, ...]]:
    """From one to `most` damages of any sort, in order, each of one or a few files."""
    one = st.one_of(
        _of_a_file(machine),
        _of_a_file(machine),
        _of_a_directory(machine),
        _of_a_kind(machine),
        _contradictions(machine),
    )
    several = st.lists(one, min_size=1, max_size=most)
    return several.map(lambda found: tuple(damage for some in found for damage in some))


# --- What the map reads and says -----------------------------------------------------------------


class _Recorder(Directory):
    """A directory that notes the path of every file that is opened below it."""

    def __init__(
        self,
        fd: int,
        path: str,
        warnings: list[TopologyWarning],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(fd, path, warnings)
        self.note = note

    def directory(self, name: str) -> Directory | None:
        found = super().directory(name)
        if found is None:
            return None
        return _Recorder(found._fd, found.path, self._warnings, self.note)

    def text(self, name: str, *, cut: bool = False) -> str | None:
        self.note(self.of(name).removeprefix("/"))
        return super().text(name, cut=cut)

    def long_text(self, name: str) -> str:
        self.note(self.of(name).removeprefix("/"))
        return super().long_text(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The paths that reading a map opens as files, there or not, and the warnings it gives."""

    opened: frozenset[str]
    warnings: tuple[TopologyWarning, ...]


def note_reads(host_root: Path) -> Reads:
    """Read a machine in the steps of read_topology and note what is opened."""
    opened: set[str] = set()
    warnings: list[TopologyWarning] = []
    with _Recorder.root(host_root, warnings) as root:
        assert isinstance(root, _Recorder)
        root.note = opened.add
        sets = CpuSetReader()
        cpus = read_cpus(root, sets)
        numa_nodes = read_nodes(root, cpus.online, sets)
        read_devices(root, sets)
        if any(not node.cpus for node in numa_nodes):
            read_gpu_memory_nodes(root)
    return Reads(opened=frozenset(opened), warnings=tuple(warnings))


def facts(document: Mapping[str, object]) -> dict[str, object]:
    """The facts of a map's JSON by name, such as `nodes/1/memory_bytes`, without its warnings.

    Things are named by what stays theirs: nodes by id, devices by address, CPU kinds by name,
    groups and caches by their CPUs. Counts are left out: they repeat what they count.
    """
    cpus = document["cpus"]
    assert isinstance(cpus, dict)
    found = {f"cpus/{key}": cpus[key] for key in ("online", "present", "offline", "isolated")}
    found |= _of_list("kinds", cpus["kinds"], "name")
    found |= _of_list("nodes", document["nodes"], "id")
    found |= _of_list("pci_devices", document["pci_devices"], "address")
    for section in ("packages", "dies", "clusters", "caches"):
        found |= _of_list(section, document[section], "cpus")
    cores = document["cores"]
    assert cores is None or isinstance(cores, list)
    return found | {f"cores/{core}": True for core in cores or ()}


def _of_list(section: str, items: object, name: str) -> Iterator[tuple[str, object]]:
    assert items is None or isinstance(items, list)
    for item in items or ():
        thing = f"{section}/{item[name]}"
        for key, value in item.items():
            if key != "hugepages":
                yield f"{thing}/{key}", value
        for pool in item.get("hugepages", ()):
            yield f"{thing}/hugepages/{pool['size_kib']}/total", pool["total"]
            yield f"{thing}/hugepages/{pool['size_kib']}/free", pool["free"]
