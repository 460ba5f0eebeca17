"""What the agent's own assigner decided for a pod, or why it couldn't, and what helps then."""

from collections.abc import Iterator, Mapping

from numa_agent.core.assigner import ASSIGNER
from numa_agent.core.cpulist import render
from numa_agent.core.explaining.story import Case, Todo
from numa_agent.core.verdict.wording import nodes

_SLOTS = "numa-agent slots"
_NO_ROOM = Todo(
    what="wait, end what holds the CPUs, or ask for less: see what still fits on one NUMA node",
    command=_SLOTS,
)
_TODOS: Mapping[str, Todo] = {
    "no-room": _NO_ROOM,
    "nodes-in-use": Todo(
        what="wait, or let pods of one node and of several meet: singleNUMANodeExclusive:"
        " Preferred in the pod's template",
        command=_SLOTS,
    ),
    "never-fits": Todo(
        what="ask for less, or for a weaker policy: this machine can't hold it so",
        command="numa-agent topology",
    ),
    "devices-apart": Todo(
        what="have its GPUs given out by one NUMA node (docs/gpu-plugin.md), ask for fewer, or for"
        " the policy Restricted",
        command="numa-agent topology",
    ),
    "devices-unplaced": Todo(
        what="tell where the device is in a file of localityOverrides (docs/configuration.md), and"
        " see that podresources answers",
        command="numa-agent topology",
    ),
    "reserved-unknown": Todo(
        what="see that kubelet's settings or the Node can be read",
        command="numa-agent doctor",
    ),
}
_CORRECT = Todo(what="correct the annotation that the message quotes (docs/assigner.md)")


def here(case: Case) -> Iterator[str]:
    """What was decided here, in lines."""
    if case.chosen is not None:
        own = f"CPUs {render(case.chosen.cpus)} of " if case.chosen.cpus else "what is shared in "
        asked = f", since the pod asks by {case.chosen.asked}" if case.chosen.asked else ""
        yield f"{ASSIGNER} chose {own}{nodes(case.chosen.nodes)} at {case.chosen_at}{asked}"
    if case.unplaced is not None:
        how = "found no place" if case.chosen is None else "can't give it what it asks for by now"
        yield f"{ASSIGNER} {how} ({case.unplaced[0]}): {case.unplaced[1]}"


def helps(case: Case) -> Iterator[Todo]:
    """What gets a pod that couldn't be placed a place."""
    if case.unplaced is not None:
        yield _TODOS.get(case.unplaced[0], _CORRECT)
