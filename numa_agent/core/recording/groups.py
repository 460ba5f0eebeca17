"""The names of cgroups: of kubelet's own, of pods and containers, and of any other.

kubelet's and the runtimes' names are those of host.cgroups.layout. systemd writes a level's dashes
as underscores and repeats the levels above it, so that one name stands in several and has one
pseudonym in all of them. systemd.slice(5)
"""

import re

from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Kind, Names

_KNOWN = {
    *("kubepods", "burstable", "besteffort", "kubelet", "system", "user", "init", "machine"),
    *("kubelet-kubepods", "runtime", "podruntime", "sys", "fs", "cgroup", "unified", "systemd"),
    *("cpuset", "cpu", "cpuacct", "cpu,cpuacct", "cpuacct,cpu", "memory", "containerd", "docker"),
    *("crio", "k8s", "host", "..", ".", ""),
}
_SUFFIX = re.compile(r"\.(?:slice|scope|service)$")
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})")
_CONTAINER = re.compile(r"(cri-containerd-|crio-|crio-conmon-|docker-|)([0-9a-f]{64})")
_MISPLACED = re.compile(r"([^:/]{1,255}\.slice):(cri-containerd|crio|docker):([0-9a-f]{64})")

CONTROLLERS = {
    *("cpuset", "cpu", "cpuacct", "io", "blkio", "memory", "devices", "freezer", "net_cls"),
    *("net_prio", "perf_event", "hugetlb", "pids", "rdma", "misc", "dmem"),
}


def group(names: Names, name: str) -> str:
    """The name of a cgroup that a kubelet or a runtime made, or of one above those."""
    if names.keep:
        return name
    misplaced = _MISPLACED.fullmatch(name)
    if misplaced is not None:
        above, runtime, number = misplaced.groups()
        return f"{group(names, above)}:{runtime}:{names.of(Kind.CONTAINER_ID, number)}"
    suffix = _SUFFIX.search(name)
    stem = name[: suffix.start()] if suffix else name
    return f"{_stem(names, stem, suffix[0] if suffix else '')}{suffix[0] if suffix else ''}"


def _stem(names: Names, stem: str, suffix: str) -> str:
    container = _CONTAINER.fullmatch(stem)
    if container is not None:
        return f"{container[1]}{names.of(Kind.CONTAINER_ID, container[2])}"
    if suffix == ".slice":
        return "-".join(_level(names, level) for level in stem.split("-"))
    return _level(names, stem)


def _level(names: Names, level: str) -> str:
    if level in _KNOWN:
        return level
    pod = _POD.fullmatch(level)
    if pod is not None:
        return f"pod{words.uuid(names, pod[1])}"
    return names.of(Kind.CGROUP, level.replace("-", "_"))


def nested(names: Names, name: str) -> str:
    """The name of a cgroup that a container made for itself: whatever it is, in its order."""
    return names.of(Kind.NESTED, name)


def is_pod(name: str) -> bool:
    """Whether a name is that of a pod's cgroup, by either driver."""
    return _POD.fullmatch(name.removesuffix(".slice").rpartition("-")[2]) is not None or (
        _POD.fullmatch(name) is not None
    )


def misplaced(name: str) -> bool:
    """Whether a name is that of a container whose runtime has another driver than kubelet."""
    return _MISPLACED.fullmatch(name) is not None


def cgroup_root(names: Names, text: str) -> str:
    """kubelet's cgroupRoot."""
    if not text.isprintable():
        return names.word(text)
    if names.keep:
        return text
    return "/".join(
        name if name in _KNOWN else names.of(Kind.CGROUP, name.replace("-", "_"))
        for name in text.split("/")
    )


def mount_line(
    names: Names, number: int, point: str, root: str, kind: str, options: frozenset[str]
) -> str:
    """A cgroup mount as a line of mountinfo, by what is read of it. proc_pid_mountinfo(5)"""
    whole = "/" if root.strip("/.") == "" else "/part"
    shown = ",".join(("rw", *sorted(options & CONTROLLERS)))
    return f"{number} 1 0:{number} {whole} {mount_point(names, point)} rw - {kind} {kind} {shown}"


def mount_point(names: Names, point: str) -> str:
    """Where a hierarchy is mounted, as mountinfo writes it."""
    mapped = "/".join(group(names, name) for name in point.split("/"))
    return re.sub(r"[\\ \t\n]", lambda each: f"\\{ord(each[0]):03o}", mapped)
