"""A machine that has all that a pass reads, and where each thing is that it reads."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from numa_agent.core import cpulist
from numa_agent.core.memory_use import HUGETLB_FILES
from tests.recorded import machine

GROUPS = "sys/fs/cgroup"


def whole_machine(root: Path, name: str = "two-socket-8gpu") -> Path:
    """A copy of a recorded machine with what is read of a live one besides."""
    copied(name, root)
    for process in (root / GROUPS).rglob("cgroup.procs"):
        group, pids = process.parent, process.read_text().split()
        put(group / "cgroup.events", f"populated {int(bool(pids))}\nfrozen 0\n")
        put(group / "cgroup.threads", "".join(f"{pid}\n{int(pid) + 1}\n" for pid in pids))
        put(group / "memory.current", "1073741824\n")
        put(group / "cpu.max", "2400000 100000\n")
        for name in HUGETLB_FILES:
            put(group / name, "total=0 N0=0 N1=0\n")
        for pid in pids:
            for task in (int(pid), int(pid) + 1):
                put(root / f"proc/{task}/status", STATUS)
    put(pod_group(root) / "cpuset.mems", "0\n")
    put(root / "proc/self/status", "Name:\tpython\nNSpid:\t77\n")
    put(root / "proc/sys/kernel/random/boot_id", "7f0c0000-0000-4000-8000-000000000001\n")
    node = root / "answers/node.json"
    document = json.loads(node.read_text())
    document["status"]["nodeInfo"]["bootID"] = "7f0c0000-0000-4000-8000-000000000001"
    node.write_text(json.dumps(document))
    return root


def pod_group(root: Path) -> Path:
    """The cgroup of a Guaranteed pod."""
    return min((root / GROUPS / "kubepods.slice").glob("kubepods-pod*.slice"))


STATUS = """\
Name:	trainer
Uid:	1000	1000	1000	1000
Cpus_allowed:	ff
Cpus_allowed_list:	0-223
Mems_allowed:	3
Mems_allowed_list:	0-1
"""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def other_spellings(folder: Path) -> Iterator[Path]:
    """Machines whose kernels say by other files what most say by lists."""
    for name in ("core_cpus thread_siblings", "thread_siblings core_cpus"):
        kept, dropped = name.split()
        root = copied("single-node", folder / kept)
        for path in list(root.rglob("*_list")) + list(root.rglob("*_cpulist")):
            as_mask(path)
        for path in root.rglob(dropped):
            path.rename(path.with_name(kept))
        yield root
    root = copied("single-node", folder / "old")
    for path in list(root.rglob("core_cpus_list")):
        path.rename(path.with_name("thread_siblings_list"))
    for path in list(root.rglob("package_cpus_list")):
        path.rename(path.with_name("core_siblings"))
        as_mask(path.with_name("core_siblings"), "core_siblings")
    (root / "sys/devices/system/cpu/online").unlink()
    put(root / "sys/devices/cpu_core/cpus", "0-3\n")
    put(root / "sys/devices/cpu_atom/cpus", "4-5\n")
    put(root / "sys/devices/cpu_lowpower/cpus", "6-7\n")
    yield root
    yield without_nodes(folder / "without-nodes")
    yield on_v1(folder / "v1", prefix="cpuset.")
    yield on_v1(folder / "noprefix", prefix="")
    yield with_hidden_tasks(on_v1(folder / "hidden", prefix="cpuset."))


def copied(name: str, root: Path) -> Path:
    """A copy of a recorded machine."""
    shutil.copytree(machine(name), root, symlinks=True)
    return root


def as_mask(path: Path, name: str | None = None) -> None:
    """A file's list as the mask of its other name."""
    ids = cpulist.parse(path.read_text().rstrip("\n"))
    names = {"shared_cpu_list": "shared_cpu_map", "local_cpulist": "local_cpus"}
    names["cpulist"] = "cpumap"
    mask = f"{sum(1 << each for each in ids):x}\n"
    path.unlink()
    path.with_name(name or names.get(path.name, path.name.removesuffix("_list"))).write_text(mask)


def without_nodes(root: Path) -> Path:
    """A machine whose kernel knows no NUMA nodes, and whose CPUs differ in strength."""
    copied("single-node", root)
    shutil.rmtree(root / "sys/devices/system/node")
    size = root / "sys/kernel/mm/hugepages/hugepages-2048kB"
    put(size / "nr_hugepages", "4\n")
    put(size / "free_hugepages", "3\n")
    for cpu in (root / "sys/devices/system/cpu").glob("cpu[0-9]*"):
        put(cpu / "cpu_capacity", "1024\n" if cpu.name < "cpu4" else "512\n")
        for ids in (cpu / "topology").glob("*_cpus*"):
            ids.unlink()
    return root


def on_v1(root: Path, *, prefix: str) -> Path:
    """A machine with cgroup v1, mounted with `noprefix` or without, and CPU quotas."""
    copied("cgroup-v1-systemd", root)
    groups = root / GROUPS / "cpuset"
    for group in [groups, *(path for path in groups.rglob("*") if path.is_dir())]:
        quota = root / GROUPS / "cpu,cpuacct" / group.relative_to(groups)
        put(quota / "cpu.cfs_quota_us", "200000\n")
        put(quota / "cpu.cfs_period_us", "100000\n")
        shutil.copy(group / "cgroup.procs", group / "tasks")
        for file in group.glob("cpuset.*"):
            file.rename(file.with_name(prefix + file.name.removeprefix("cpuset.")))
    return root


def with_hidden_tasks(root: Path) -> Path:
    """A machine with cgroup v1 as a pod without hostPID sees it: no list has a task."""
    groups = root / GROUPS / "cpuset"
    for tasks in [*groups.rglob("cgroup.procs"), *groups.rglob("tasks")]:
        count = len(tasks.read_text().split())
        tasks.write_text("")
        if tasks.name == "cgroup.procs":
            own = tasks.parent.relative_to(groups)
            put(root / GROUPS / "pids" / own / "pids.current", f"{count}\n")
    return root
