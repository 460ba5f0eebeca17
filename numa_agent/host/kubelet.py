"""What kubelet keeps on disk: its configuration and the state of its CPU and memory managers.

https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ and
https://github.com/kubernetes/kubernetes/tree/master/pkg/kubelet/cm. kubelet replaces its state
files whole, by renaming, so that one read gives one state.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from numa_agent.config import KUBELET_DIR
from numa_agent.core.documents import Document, mapping, text
from numa_agent.core.errors import SourceError
from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.kubelet_config import KIND, merge, parse_settings
from numa_agent.core.kubelet_members import shown
from numa_agent.core.kubelet_state import parse_cpu_state, parse_memory_state
from numa_agent.host.kubelet_yaml import parse_yaml

_CPU_STATE = "cpu_manager_state"
_MEMORY_STATE = "memory_manager_state"
_CONFIG = "config.yaml"
_DROP_IN = ".conf"
_DO = "correct it, or name the file that kubelet runs with"

_T = TypeVar("_T")


def read_settings(
    host_root: Path, config_file: Path | None = None, drop_in_dir: Path | None = None
) -> tuple[KubeletSettings, tuple[str, ...]] | None:
    """kubelet's settings by its files, and sentences that name the members that can't be read.

    The paths are those on the machine, of kubelet's `--config` and `--config-dir`; without them
    the file is the one where kubeadm puts it and there are no drop-ins. None when there is no such
    file. Raises SourceError when a file or folder that is named isn't there, and when one can't be
    read, isn't YAML, gives a key twice or is no KubeletConfiguration.
    """
    main = _on(host_root, config_file or Path(KUBELET_DIR, _CONFIG))
    paths = [main]
    documents = [document] if (document := _document(main)) is not None else []
    if config_file is not None and not documents:
        raise SourceError(f"{main}: not there; name the file that kubelet runs with")
    drop_ins: list[Document] = []
    if drop_in_dir is not None:
        paths.append(_on(host_root, drop_in_dir))
        drop_ins += _drop_ins(paths[-1])
    if not documents and not drop_ins:
        return None
    # Without a file of its own kubelet starts from no evictionHard at all.
    settings, problems = parse_settings(merge([*(documents or [{"evictionHard": {}}]), *drop_ins]))
    where = " with ".join(map(str, paths))
    return settings, tuple(f"{where}: {problem}" for problem in problems)


def read_cpu_state(host_root: Path) -> CpuManagerState | None:
    """The CPU manager's state, None without a file.

    Raises SourceError without kubelet's directory and when the file can't be understood: the CPUs
    in it must not be touched by mistake.
    """
    folder = host_root / KUBELET_DIR
    if not folder.is_dir():
        raise SourceError(
            f"{folder}: not there, so kubelet's exclusive CPUs are unknown and no CPU is given"
            " out; mount the host's kubelet directory"
        )
    cost = "kubelet's exclusive CPUs are unknown, so no CPU is given out"
    return _state(host_root, _CPU_STATE, parse_cpu_state, cost)


def read_memory_state(host_root: Path) -> MemoryManagerState | None:
    """The memory manager's state, None without a file. Raises SourceError when it can't be read.

    A kubelet without memory manager (before Kubernetes 1.21) has none.
    """
    cost = "what pods hold of each node's memory is unknown, so nothing is published"
    return _state(host_root, _MEMORY_STATE, parse_memory_state, cost)


def read_cgroup_root(host_root: Path) -> str:
    """kubelet's cgroupRoot, "" where it has none. Raises SourceError for bad YAML."""
    path = host_root / KUBELET_DIR / _CONFIG
    content = _content(path)
    if content is None:
        return ""
    # A key given twice is kubelet's to complain of: it takes the last, and so does this.
    value, _ = _yaml(content, path)
    return text(mapping(value).get("cgroupRoot")) or ""


def _state(host_root: Path, name: str, parse: Callable[[str], _T], cost: str) -> _T | None:
    path = host_root / KUBELET_DIR / name
    content = _content(path)
    if content is None:
        return None
    try:
        return parse(content)
    except ValueError as error:
        raise SourceError(f"{path}: {error}; {cost}") from error


def _drop_ins(folder: Path) -> Iterator[Document]:
    """The drop-ins of a folder and those below it, in the order in which kubelet walks them."""
    try:
        found = [
            Path(parent, name)
            for parent, _, names in os.walk(folder, onerror=_raise)
            for name in names
            if name.endswith(_DROP_IN)
        ]
    except OSError as error:
        raise SourceError(
            f"{folder}: {error.strerror or error}; name the folder of kubelet's --config-dir"
        ) from error
    for path in sorted(found, key=lambda path: path.parts):
        document = _document(path)
        if document is not None:
            yield document


def _raise(error: OSError) -> None:
    raise error


def _document(path: Path) -> Document | None:
    """A file of KubeletConfiguration, None where there is none."""
    content = _content(path)
    if content is None:
        return None
    value, repeated = _yaml(content, path)
    if repeated is not None:
        raise SourceError(f"{path}: gives {repeated[:80]!r} more than once; {_DO}")
    if not isinstance(value, Mapping):
        raise SourceError(f"{path}: not an object of YAML; {_DO}")
    kind = value.get("kind")
    if kind is not None and kind != KIND:
        raise SourceError(f"{path}: its kind is {shown(kind)} and not {KIND}; {_DO}")
    return value


def _yaml(content: str, path: Path) -> tuple[object, str | None]:
    try:
        return parse_yaml(content)
    except ValueError as error:
        raise SourceError(f"{path}: not YAML: {error}; {_DO}") from error


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if path.is_symlink():
            raise SourceError(
                f"{path}: a link to {path.readlink()}, which isn't there; name the file that it"
                " leads to on the machine"
            ) from error
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: {error}") from error


def _on(host_root: Path, path: Path) -> Path:
    """A path of the machine below the root that it is mounted at."""
    return host_root.joinpath(*path.parts[1:] if path.is_absolute() else path.parts)
