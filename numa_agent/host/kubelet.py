"""What kubelet keeps on disk: its configuration and its CPU manager's state.

https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/ and
kubernetes/pkg/kubelet/cm/cpumanager/state.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from numa_agent.config import KUBELET_DIR
from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.documents import mapping, text, texts
from numa_agent.core.errors import SourceError


def read_exclusive_cpus(host_root: Path) -> Mapping[str, CpuSet]:
    """The CPUs that kubelet's static policy gave to a pod's containers, by pod uid.

    None at all without a state file or with another policy. Raises SourceError without kubelet's
    directory, or when the file can't be understood: these CPUs must not be touched by mistake.
    """
    folder = host_root / KUBELET_DIR
    if not folder.is_dir():
        raise SourceError(
            f"{folder}: not there, so kubelet's exclusive CPUs are unknown and no CPU is given"
            " out; mount the host's kubelet directory"
        )
    path = folder / "cpu_manager_state"
    content = _content(path)
    if content is None:
        return {}
    try:
        return _exclusive(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{path}: {error}; kubelet's exclusive CPUs are unknown, so no CPU is given out"
        ) from error


def _exclusive(state: object) -> Mapping[str, CpuSet]:
    """The sets of a state file; ValueError unless it has the form that kubelet has today."""
    policy = mapping(state).get("policyName")
    if not isinstance(policy, str):
        raise ValueError("it isn't an object with a policyName")
    if policy != "static":
        return {}
    entries = mapping(state).get("entries", {})
    if not isinstance(entries, dict):
        raise ValueError("its entries aren't an object")
    found: dict[str, CpuSet] = {}
    for uid, containers in entries.items():
        sets = texts(containers)
        if not isinstance(containers, dict) or len(sets) != len(containers):
            raise ValueError(f"the entry of pod {uid} isn't an object of CPU lists by container")
        found[uid] = frozenset[int]().union(*map(cpulist.parse, sets.values()))
    return found


def read_cgroup_root(host_root: Path) -> str:
    """kubelet's cgroupRoot, "" where it has none. Raises SourceError for bad YAML."""
    path = host_root / KUBELET_DIR / "config.yaml"
    content = _content(path)
    if content is None:
        return ""
    import yaml

    try:
        return text(mapping(yaml.safe_load(content)).get("cgroupRoot")) or ""
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not YAML: {error}") from error


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: {error}") from error
