"""kubelet's files and the list of mounts, as parts of a recording."""

from pathlib import Path

from numa_agent.config import DECISIONS_NAME, KUBELET_DIR, LOCK_FILE, Config
from numa_agent.core.assigner import MOST_BYTES
from numa_agent.core.recording import decisions, kubelet
from numa_agent.core.recording.pseudonyms import Names
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


def add_decisions(parts: Parts, tree: Tree, config: Config) -> None:
    """Add what the agent decided itself, where a replay looks for it."""
    lock = config.lock_file.strip("/").split("/")
    to = f"{LOCK_FILE.rpartition('/')[0]}/{DECISIONS_NAME}"
    try:
        content = tree.read(tree.resolve((*lock[:-1], DECISIONS_NAME)), MOST_BYTES)
    except LeftOutError as error:
        if not error.missing:
            parts.fail(to, str(error))
        return
    text = content.decode(errors="replace")
    rule = _MEMBERS
    if decisions.decisions(text, Names(b"")) == decisions.UNREADABLE:
        rule = "a stand-in"
        parts.fail(to, "it can't be understood")
    parts.add(to, rule, lambda names: decisions.decisions(text, names))


def add_mounts(parts: Parts, tree: Tree, host_root: Path) -> None:
    """Add the list of mounts."""
    written = read_mounts(tree, host_root)
    if written is not None:
        parts.add(MOUNTS, "the mounts of cgroup hierarchies", written)
