"""The kernel's rules for the cpusets of one pod, in memory, and random pods under them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from hypothesis import strategies as st

from numa_agent.core.cgroups import ContainerGroups, File, Group, PodGroups, Version
from numa_agent.core.cpusets.values import ContainerTarget, PodTarget, Step
from tests.machine_tree import container_id, pod

Ids = frozenset[int]

ABOVE = "kubepods/burstable"
POD = f"{ABOVE}/pod1"
EVERY_CPU = frozenset(range(6))
EVERY_NODE = frozenset(range(3))
FILES: tuple[File, ...] = ("cpus", "mems")


class Rules(Enum):
    """Whose rules hold."""

    V1 = "v1"
    V2_5_10 = "v2 on 5.10"
    V2_6_1 = "v2 on 6.1"

    @property
    def version(self) -> Version:
        return Version.V1 if self is Rules.V1 else Version.V2


class RefusedError(Exception):
    """The kernel says no, with the name of the errno."""


@dataclass
class Kernel:
    """What is configured, by path and file; `ABOVE` is the outermost cgroup that is modelled."""

    rules: Rules
    sets: dict[str, dict[File, Ids]] = field(default_factory=dict)

    def write(self, path: str, file: File, ids: Ids) -> None:
        """One write of a list to a file of a cgroup that has tasks in it or below it."""
        if not ids:
            raise RefusedError("ENOSPC")
        trial = {**self.sets[path], file: ids}
        if self.rules is not Rules.V2_6_1:
            for child in self.children(path):
                if not within(self.sets[child], trial):
                    raise RefusedError("EBUSY")
        if self.rules is Rules.V1 and not within(trial, self.sets[parent(path)]):
            raise RefusedError("EACCES")
        self.sets[path] = trial

    def effective(self, path: str, file: File) -> Ids:
        """What is in force for a task in a cgroup."""
        held = self.sets[path][file]
        if self.rules is Rules.V1 or path == ABOVE:
            return held
        around = self.effective(parent(path), file)
        return held & around or around

    def children(self, path: str) -> list[str]:
        return [each for each in self.sets if parent(each) == path]

    def group(self, path: str) -> Group:
        return Group(
            path=path,
            cpus=self.sets[path]["cpus"],
            effective_cpus=self.effective(path, "cpus"),
            mems=self.sets[path]["mems"],
            effective_mems=self.effective(path, "mems"),
        )

    def pod_groups(self) -> PodGroups:
        """What a reader of the pod's cgroups sees."""
        return PodGroups(
            version=self.rules.version,
            above=(self.group(ABOVE),),
            group=self.group(POD),
            containers=tuple(
                ContainerGroups(
                    id=path.rpartition("/")[2],
                    group=self.group(path),
                    nested=tuple(self.group(each) for each in self.inside(path)),
                )
                for path in self.children(POD)
            ),
        )

    def inside(self, path: str) -> list[str]:
        """The cgroups below one, each parent before its children."""
        return sorted(each for each in self.sets if each.startswith(f"{path}/"))

    def take(self, steps: Iterable[Step]) -> None:
        for step in steps:
            assert self.sets[step.path][step.file] == step.before
            self.write(step.path, step.file, step.after)

    def copy(self) -> "Kernel":
        return Kernel(self.rules, dict(self.sets))


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def within(inner: dict[File, Ids], outer: dict[File, Ids]) -> bool:
    return all(inner[file] <= outer[file] for file in FILES)


def some_of(ids: Ids) -> st.SearchStrategy[Ids]:
    return st.frozensets(st.sampled_from(sorted(ids)), min_size=1)


@st.composite
def kernels(draw: st.DrawFn, rules: Rules) -> Kernel:
    """A pod with up to three containers, some of which have cgroups of their own inside.

    On 5.10 no cgroup has memory nodes that its parent lacks: the kernel accepts that, and refuses
    every write to that parent from then on.
    """
    kernel = Kernel(rules)
    kernel.sets[ABOVE] = {"cpus": draw(some_of(EVERY_CPU)), "mems": draw(some_of(EVERY_NODE))}

    def add(path: str, depth: int) -> None:
        kernel.sets[path] = {file: draw(_held(kernel, path, file)) for file in FILES}
        for name in "abc"[: draw(st.integers(0, 2)) if depth else 0]:
            add(f"{path}/{name}", depth - 1)

    kernel.sets[POD] = {file: draw(_held(kernel, POD, file)) for file in FILES}
    for number in range(draw(st.integers(0, 3))):
        add(f"{POD}/{container_id(number + 1)}", draw(st.sampled_from([0, 0, 1, 2])))
    return kernel


def _held(kernel: Kernel, path: str, file: File) -> st.SearchStrategy[Ids]:
    around = kernel.sets[parent(path)][file]
    if kernel.rules is Rules.V1:
        return some_of(around) | st.just(around)
    inherits = st.just(Ids())
    if kernel.rules is Rules.V2_5_10 and file == "mems":
        return inherits | some_of(around) if around else inherits
    return inherits | some_of(EVERY_CPU if file == "cpus" else EVERY_NODE)


@st.composite
def targets(draw: st.DrawFn, kernel: Kernel) -> PodTarget:
    """Anything that may be wanted of a pod; containers get parts of what the pod gets."""
    above = kernel.sets[ABOVE]
    cpus = draw(st.none() | some_of(above["cpus"]))
    mems = draw(st.none() | some_of(above["mems"]))
    containers = {
        path.rpartition("/")[2]: ContainerTarget(
            name=path.rpartition("/")[2],
            cpus=draw(st.none() | some_of(cpus)) if cpus else None,
            mems=draw(st.none() | some_of(mems)) if mems else None,
            reason="its own",
        )
        for path in kernel.children(POD)
        if draw(st.booleans())
    }
    return PodTarget(pod=pod(1), cpus=cpus, mems=mems, reason="the pod's", containers=containers)
