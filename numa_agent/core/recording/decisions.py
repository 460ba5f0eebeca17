"""What of the agent's own decisions comes into a recording: all of it, under other names."""

from dataclasses import replace

from numa_agent.core.assigner import Kept, parse_kept, render_kept
from numa_agent.core.pod_keys import SCHEDULER, TOPOLOGY_SPECS
from numa_agent.core.recording import words
from numa_agent.core.recording.pseudonyms import Kind, Names

UNREADABLE = "{"
"""Not JSON: a pass sets it aside, as it does with what it stands for."""

_KEYS = ("", SCHEDULER, *TOPOLOGY_SPECS)


def decisions(content: str, names: Names) -> str:
    """The file of decisions."""
    try:
        kept = parse_kept(content)
    except ValueError:
        return UNREADABLE
    return render_kept(
        {words.uuid(names, uid): _renamed(each, names) for uid, each in kept.items()}
    )


def _renamed(kept: Kept, names: Names) -> Kept:
    namespace, _, pod = kept.pod.partition("/")
    return replace(
        kept,
        pod=f"{names.of(Kind.NAMESPACE, namespace)}/{names.of(Kind.POD, pod)}",
        containers={
            names.of(Kind.CONTAINER, name): cpus for name, cpus in kept.containers.items()
        },
        sharing=tuple(names.of(Kind.CONTAINER, name) for name in kept.sharing),
        asked=words.listed(names, kept.asked, _KEYS),
    )
