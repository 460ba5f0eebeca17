"""kubelet's files and the list of mounts, as parts of a recording."""

from pathlib import Path

from numa_agent.config import KUBELET_DIR, Config
from numa_agent.core.recording import kubelet
from numa_agent.host.recording.kubelet import (
    CONFIG,
    STATES,
    cgroup_root,
    read_config,
    read_state,
    written_config,
)
from numa_agent.host.recording.mounts import MOUNTS, read_mounts
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.tree import Tree
from numa_agent.wiring.recording.parts import Parts

_MEMBERS = "the members read"


def add_kubelet(parts: Parts, tree: Tree, config: Config) -> str:
    """Add what kubelet keeps on disk; kubelet's cgroupRoot by its file."""
    _add_folder(parts, tree)
    for path in STATES:
        found = read_state(tree, path)
        if found is None:
            continue
        written, why = found
        parts.add(path, _MEMBERS if why is None else "a stand-in", written)
        if why is not None:
            parts.fail(path, why)
    if config.kubelet_config == "configz":
        return ""
    file = None if config.kubelet_config == "auto" else config.kubelet_config
    try:
        document = read_config(tree, file, config.kubelet_config_dir)
    except LeftOutError as error:
        parts.add(CONFIG, "a stand-in", lambda _: kubelet.UNREADABLE_CONFIG)
        parts.fail(CONFIG, str(error))
        return ""
    if document is not None:
        parts.add(CONFIG, f"{_MEMBERS}, its drop-ins laid over it", written_config(document))
    return cgroup_root(document)


def _add_folder(parts: Parts, tree: Tree) -> None:
    """Without its folder kubelet's state is unknown, with it there may be none."""
    try:
        if tree.is_folder(tree.resolve(KUBELET_DIR)):
            parts.folders.append(KUBELET_DIR)
    except LeftOutError as error:
        if not error.missing:
            parts.fail(KUBELET_DIR, str(error))


def add_mounts(parts: Parts, tree: Tree, host_root: Path) -> None:
    """Add the list of mounts."""
    written = read_mounts(tree, host_root)
    if written is not None:
        parts.add(MOUNTS, "the mounts of cgroup hierarchies", written)
