"""Looking for the files of a machine's map and of its cgroups, by the rules of what is read."""

import stat
from collections.abc import Iterable, Mapping

from numa_agent.config import (
    BOOT_ID,
    CPU_DIR,
    CPUINFO,
    HUGEPAGES_DIR,
    MEMINFO,
    NODE_DIR,
    NVIDIA_GPUS_DIR,
    PMU_DIR,
)
from numa_agent.core.recording import contents, rules
from numa_agent.core.recording.contents import Content
from numa_agent.core.recording.rules import Entry, File, Folder, Link, Mark
from numa_agent.host.cgroups.memory import MAPS_LIMIT
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundFile, FoundFolder, FoundLink, Spot, spot_of
from numa_agent.host.recording.tree import Parts

SMALL = 1 << 20
"""Bytes of a file of sysfs; the tasks of one cgroup may take as many."""
_LARGE = 1 << 24

PLACES: Mapping[str, tuple[Entry, ...]] = {
    CPU_DIR: rules.CPUS,
    PMU_DIR: rules.KINDS,
    NODE_DIR: rules.NODES,
    HUGEPAGES_DIR: rules.HUGEPAGES,
    NVIDIA_GPUS_DIR: rules.GPUS,
    NVIDIA_GPUS_DIR.rpartition("/")[0]: rules.GPU_MODULE,
}
FILES: Mapping[str, Content] = {
    MEMINFO: contents.memory,
    CPUINFO: contents.cpu_info,
    BOOT_ID: contents.boot_id,
}


def limit_of(form: Content) -> int:
    """The most bytes of a file: procfs has some long ones."""
    if form is contents.numa_maps:
        return MAPS_LIMIT
    return _LARGE if form in {contents.cpu_info, contents.memory} else SMALL


def find_map(finds: Finds) -> None:
    """Find the files of the machine's map."""
    for path, form in FILES.items():
        spot = spot_of(path)
        _file(finds, spot, tuple(path.split("/")), form)
    for path, entries in PLACES.items():
        _place(finds, path, entries)


def _place(finds: Finds, path: str, entries: Iterable[Entry]) -> None:
    spot = spot_of(path)
    try:
        real = finds.tree.resolve(path)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return
    find_within(finds, spot, real, entries)


def find_within(finds: Finds, spot: Spot, real: Parts, entries: Iterable[Entry]) -> None:
    """Find in a directory what the entries say."""
    if finds.full:
        return
    try:
        listed, whole = finds.tree.names(real)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return
    finds.add(FoundFolder(spot))
    if not whole:
        finds.leave_out(spot, f"over {len(listed)} names in it: those after the first")
    present = set(listed)
    for entry in entries:
        for name in _named(entry, listed):
            if whole and name not in present:
                continue
            _entry(finds, spot, (*real, name), entry)


def _named(entry: Entry, listed: Iterable[str]) -> Iterable[str]:
    if isinstance(entry.name, str):
        return (entry.name,)
    return [name for name in listed if entry.name.fullmatch(name) and is_text(name)]


def is_text(name: str) -> bool:
    """Whether a name can be shown at all."""
    return name.isprintable()


def _entry(finds: Finds, above: Spot, real: Parts, entry: Entry) -> None:
    if isinstance(entry, File):
        if not _said(finds, real, entry.unless):
            _file(finds, above.below(real[-1]), real, entry.form)
    elif isinstance(entry, Link):
        _named_link(finds, above, real, entry)
    elif isinstance(entry, Mark):
        if not _said(finds, real, entry.unless):
            finds.add(FoundFolder(above.below(real[-1], entry.shown)))
    else:
        _folder(finds, above.below(real[-1], entry.shown), real, entry)


def _said(finds: Finds, real: Parts, better: Iterable[str]) -> bool:
    """Whether a file that is asked first can be read."""
    for name in better:
        try:
            if rules.is_sound(finds.tree.read((*real[:-1], name), SMALL)):
                return True
        except LeftOutError:
            continue
    return False


def _folder(finds: Finds, spot: Spot, real: Parts, entry: Folder) -> None:
    try:
        mode = finds.tree.mode(real)
        if stat.S_ISLNK(mode):
            real = finds.tree.resolve(real)
            mode = finds.tree.mode(real) if real else stat.S_IFDIR
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return
    if stat.S_ISDIR(mode):
        find_within(finds, spot, real, entry.within)
    else:
        finds.leave_out(spot, "not a directory")


def _file(finds: Finds, spot: Spot, real: Parts, form: Content) -> None:
    try:
        if stat.S_ISLNK(finds.tree.mode(real)):
            real = finds.tree.resolve(real)
    except LeftOutError as error:
        if not error.missing:
            finds.leave_out(spot, str(error))
        return
    finds.add(FoundFile(spot, real, form))


def _named_link(finds: Finds, above: Spot, real: Parts, entry: Link) -> None:
    """A link of which nothing but the last name is read, and which then leads nowhere."""
    try:
        name = finds.tree.link(real).rpartition("/")[2]
    except LeftOutError:
        return
    if is_text(name):
        finds.add(FoundLink(above.below(real[-1]), Spot(None, name, entry.shown)))
