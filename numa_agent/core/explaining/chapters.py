"""The chapters of a story, each from the part of the case that it speaks of."""

from collections.abc import Iterable, Iterator

from numa_agent.core.accounting import NodeAccount
from numa_agent.core.asked import KUBELET
from numa_agent.core.cpulist import render
from numa_agent.core.decision import LANGUAGES
from numa_agent.core.explaining.advice import advice
from numa_agent.core.explaining.asking import asked
from numa_agent.core.explaining.placed_here import here
from numa_agent.core.explaining.story import Case, Chapter, Story
from numa_agent.core.managed_fields import managers, overlap
from numa_agent.core.pods import Pod
from numa_agent.core.report import Proof
from numa_agent.core.verdict.wording import amount, named_device, nodes

_UNSET = ("mems-not-set", "mems-untold")
"""Conditions of a pod whose memory isn't held to the nodes that were decided."""


def tell(case: Case) -> Story:
    """The story of a pod of this node."""
    chapters = (
        ("asked", asked(case)),
        ("decided", _decided(case)),
        ("published", _published(case)),
        ("written", _written(case)),
        ("in force", _in_force(case)),
        ("measured", _measured(case)),
        ("limits", _limits(case)),
    )
    return Story(
        pod=case.pod.full_name,
        chapters=tuple(
            Chapter(title=title, lines=tuple(lines) or ("nothing",)) for title, lines in chapters
        ),
        todo=tuple(advice(case)),
    )


def _decided(case: Case) -> Iterator[str]:
    for refusal in case.wanted.refusals:
        if refusal.pod.uid == case.pod.uid:
            yield f"refused ({refusal.code}): {refusal.message}"
    for alone in case.wanted.left_alone:
        if alone.pod.uid == case.pod.uid:
            yield f"not ours to bind ({alone.code}): {alone.message}"
    for proof in case.proofs:
        yield _decision(case, proof)
    if not case.proofs:
        yield "no container of it runs"
    yield from here(case)
    for key in LANGUAGES:
        if key in case.pod.annotations:
            yield f"{key} was written {_writers(case.pod, key)}"


def _decision(case: Case, proof: Proof) -> str:
    name, wanted = proof.container.name, proof.asked
    if wanted.cpus is None or wanted.shares:
        which = f", {render(wanted.cpus)}" if wanted.cpus else ""
        return f"container {name}: nobody decided CPUs: it shares what is nobody's own{which}"
    unset = next((each.code for each in case.conditions if each.code in _UNSET), None)
    kept = "" if unset is None else f" meant and not set ({unset})"
    mems = f", memory of {nodes(wanted.mems)}{kept}" if wanted.mems else ""
    by = wanted.by or "an assignment that is in force"
    return f"container {name}: CPUs {render(wanted.cpus)}{mems}, by {by}"


def _writers(pod: Pod, key: str) -> str:
    """Who wrote an annotation and when, by metadata.managedFields."""
    value = {"metadata": {"annotations": {key: ""}}}
    entries = managers({"metadata": {"managedFields": pod.managed_fields}})
    found = [
        f"by {entry.name}" + (f" at {entry.time}" if entry.time else "")
        for entry in entries
        if any(overlap(entry.fields, value))
    ]
    return " and ".join(found) or "by somebody whom managedFields don't name"


def _published(case: Case) -> Iterator[str]:
    if not case.accounts:
        yield "nothing may be told to the scheduler now: a source is missing"
        return
    home = _nodes_of_interest(case)
    for account in case.accounts:
        if account.node.id in home:
            yield f"{case.told_to} is told of node {account.node.id}: {_free(account)}"


def _nodes_of_interest(case: Case) -> frozenset[int]:
    cpus = [proof.asked.cpus for proof in case.proofs if proof.asked.cpus is not None]
    if not cpus:
        return frozenset(account.node.id for account in case.accounts)
    return case.inputs.topology.nodes_of(frozenset[int]().union(*cpus))


def _free(account: NodeAccount) -> str:
    return ", ".join(
        f"{name} {_size(name, each.available)} of {_size(name, each.allocatable)} available"
        for name, each in account.resources.items()
        if each.allocatable
    )


def _size(name: str, number: int) -> str:
    return amount(number) if name == "memory" or name.startswith("hugepages-") else str(number)


def _written(case: Case) -> Iterator[str]:
    if case.pod.uid not in case.inputs.observed:
        yield "it has no cgroup here"
        return
    for step in case.steps:
        held = render(step.before) or "all of its parent's"
        yield f"to be written: {step.path}/cpuset.{step.file}: {held} -> {render(step.after)}"
    if case.held_back is not None:
        yield f"nothing may be written: {case.held_back}"
    elif not case.steps:
        yield "every cgroup of it is as it should be"
    for condition in case.conditions:
        yield f"{condition.code}: {condition.message}"


def _in_force(case: Case) -> Iterator[str]:
    topology = case.inputs.topology
    for proof in case.proofs:
        effective, used = proof.verdict.effective, proof.verdict.used
        if effective is None:
            yield f"container {proof.container.name}: not seen"
            continue
        found = topology.nodes_of(effective)
        where = nodes(found) if found else "a node that nobody knows"
        cpus = f"CPUs {render(effective)}, {where}" if effective else "no CPU"
        said = f"container {proof.container.name}: {cpus}"
        yield said + (f"; its tasks use {render(used)}" if used and used != effective else "")


def _measured(case: Case) -> Iterator[str]:
    for proof in case.proofs:
        verdict = proof.verdict
        yield f"container {proof.container.name}: {verdict.alignment.value}"
        yield from (f"  {each}" for each in verdict.reasons)
        if verdict.memory is not None:
            own = {node: size for node, size in sorted(verdict.memory.own.items()) if size}
            held = ", ".join(f"{amount(size)} in node {node}" for node, size in own.items())
            yield f"  memory: {held or 'none yet'} (by {verdict.memory.source.value})"
        for device in verdict.devices:
            place = "a node that nobody knows"
            if device.nodes:
                place = f"{nodes(device.nodes)} (by {device.node_source})"
            yield f"  {named_device(device)}: {place}"


def _limits(case: Case) -> Iterator[str]:
    yield from _once(
        str(reason)
        for proof in case.proofs
        for reason in proof.verdict.reasons
        if reason.code in {"cpus-fewer", "tasks-masked", "cpu-quota"}
    )
    if any(proof.asked.by == KUBELET for proof in case.proofs):
        yield "kubelet's static CPU manager gave it its CPUs, and writes them"


def _once(lines: Iterable[str]) -> Iterator[str]:
    yield from dict.fromkeys(lines)
