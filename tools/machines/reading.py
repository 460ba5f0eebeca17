"""From a description's YAML text to a Machine, with every mistake named by file and key."""

from pathlib import Path

import yaml

from numa_agent.core.cpulist import CpuSet, render

from .devices import ROOT_PORTS
from .reading_devices import read_nvidia, read_roots
from .reading_pods import read_cgroup, read_kubelet, read_pod
from .section import Section, SpecError
from .spec import Cpus, Machine, Node

_NUMBERS = "made up, in the kernel's formats; the PCI ids are the real devices'"


def read_machine(path: Path) -> Machine:
    """The machine that the file describes, named after it; raises SpecError, or OSError."""
    return parse_machine(path.stem, path.read_text(encoding="utf-8"))


def parse_machine(name: str, text: str) -> Machine:
    """The machine of that name that a YAML text describes, or SpecError."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SpecError(f"{name}.yaml: not YAML: {error}") from error
    top = Section(f"{name}.yaml", data)
    arch = top.choice("arch", tuple(ROOT_PORTS), "x86_64")
    cpus = _cpus(top.section("cpus"))
    nodes = _nodes(top, cpus)
    machine = Machine(
        name=name,
        about=top.text("about"),
        numbers=top.text("numbers", _NUMBERS),
        node_name=top.text("node", name),
        kernel=top.text("kernel", "6.8.0"),
        arch=arch,
        cpus=cpus,
        nodes=nodes,
        possible_nodes=top.id_set("possible_nodes", render(node.id for node in nodes)),
        distances=_distances(top, [node.id for node in nodes]),
        roots=read_roots(top, nodes, arch),
        nvidia=read_nvidia(top.section("nvidia")),
        cgroup=read_cgroup(top.section("cgroup")),
        kubelet=read_kubelet(top.section("kubelet")),
        pods=tuple(read_pod(section, cpus) for section in top.sections("pods")),
    )
    top.done()
    _check_references(top, machine)
    return machine


def _cpus(section: Section) -> Cpus:
    packages, cores = section.integer("packages"), section.integer("cores")
    threads = section.integer("threads", 1)
    last = packages * cores * threads - 1
    l3 = section.section("l3")
    cpus = Cpus(
        model=section.text("model", "Example CPU"),
        packages=packages,
        package_ids=section.integers("package_ids") or tuple(range(packages)),
        cores=cores,
        threads=threads,
        siblings_apart=section.choice("siblings", ("apart", "adjacent"), "apart") == "apart",
        dies=section.integer("dies", 1),
        cluster_cores=section.integer("cluster") if "cluster" in section else None,
        l3_cores=l3.integer("cores") if "cores" in l3 else None,
        l3_bytes=l3.size("size", "0"),
        offline=section.id_set("offline", ""),
        isolated=section.id_set("isolated", ""),
        possible=section.id_set("possible", f"0-{last}"),
    )
    l3.done()
    section.done()
    _check_cpus(section, cpus)
    return cpus


def _check_cpus(section: Section, cpus: Cpus) -> None:
    if len(cpus.package_ids) != cpus.packages:
        raise section.wrong("package_ids", f"expected {cpus.packages} ids")
    for key, group in (
        ("l3", cpus.l3_cores),
        ("cluster", cpus.cluster_cores),
        ("dies", cpus.dies),
    ):
        if group is not None and (group < 1 or cpus.cores % group):
            raise section.wrong(key, f"{cpus.cores} cores don't divide by {group}")
    for key, ids in (("offline", cpus.offline), ("isolated", cpus.isolated)):
        if not ids <= cpus.present:
            raise section.wrong(key, f"no such CPU: {render(ids - cpus.present)}")
    if not cpus.present <= cpus.possible:
        raise section.wrong("possible", f"leaves out {render(cpus.present - cpus.possible)}")


def _nodes(top: Section, cpus: Cpus) -> tuple[Node, ...]:
    nodes = tuple(
        sorted(
            (node for section in top.sections("nodes") for node in _node_group(section)),
            key=lambda node: node.id,
        )
    )
    listed = [cpu for node in nodes for cpu in node.cpus]
    if sorted(listed) != sorted(cpus.present):
        raise top.wrong("nodes", f"their CPUs have to be {render(cpus.present)}, each once")
    if len({node.id for node in nodes}) != len(nodes):
        raise top.wrong("nodes", "an id stands twice")
    return nodes


def _node_group(section: Section) -> tuple[Node, ...]:
    near = section.integer("near") if "near" in section else None
    nodes = tuple(
        Node(
            id=node_id,
            cpus=section.id_set("cpus", ""),
            memory=section.size("memory", "0"),
            hugepages=section.counts("hugepages"),
            near=near,
            generic_initiator=section.flag("generic_initiator"),
        )
        for node_id in sorted(section.id_set("id"))
    )
    section.done()
    return nodes


def _distances(top: Section, ids: list[int]) -> tuple[tuple[int, ...], ...]:
    value = top.raw("distances", 20)
    if isinstance(value, int):
        return _grouped(ids, value, [])
    if isinstance(value, dict):
        section = top.section("distances")
        groups = section.set_counts("within")
        otherwise = section.integer("otherwise")
        section.done()
        return _grouped(ids, otherwise, groups)
    count = len(ids)
    rows = [row for row in top.items("distances") if isinstance(row, list)]
    if [len(row) for row in rows] != [count] * count:
        raise top.wrong("distances", f"expected one number, or {count} rows of {count}")
    return tuple(tuple(int(number) for number in row) for row in rows)


def _grouped(
    ids: list[int], otherwise: int, groups: list[tuple[CpuSet, int]]
) -> tuple[tuple[int, ...], ...]:
    """The distance of two nodes is that of the last group with both, and 10 to itself."""
    whole = [(frozenset(ids), otherwise), *groups, *((frozenset([one]), 10) for one in ids)]
    return tuple(
        tuple([far for group, far in whole if {row, column} <= group][-1] for column in ids)
        for row in ids
    )


def _check_references(top: Section, machine: Machine) -> None:
    """Refuses ids that name nothing of this machine."""
    known = {node.id for node in machine.nodes}
    near = {node.near for node in machine.nodes if node.near is not None}
    held = {n for pod in machine.pods for c in pod.containers for n in c.memory_nodes}
    for key, ids in (
        ("nodes", near),
        ("pods", held),
        ("nvidia", set(machine.nvidia.memory_nodes.values())),
    ):
        if not ids <= known:
            raise top.wrong(key, f"no node {min(ids - known)}")
    if not machine.kubelet.reserved_cpus <= machine.cpus.online:
        raise top.wrong("kubelet", "reserved_cpus: not all of them are online")
