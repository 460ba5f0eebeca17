"""What must be so after every trouble: as if there had been none."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self

from numa_agent.core import cpulist
from tests.e2e.bench.bench import Bench
from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.placed import outside, own, running, uid
from tests.e2e.pods import Json, assigned, container, pod
from tests.e2e.served import PASSES, WRITES, counted
from tests.e2e.test_assigner import ASKS

FIND = """\
for pid in $(cat /sys/fs/cgroup/kubepods/burstable/pod{uid}/*/cgroup.procs 2>/dev/null); do
    ! grep -qs numa-agent /proc/$pid/cmdline || echo $pid
done
"""


class TroubleBench(Bench):
    """One whose agent takes a pass every few seconds, so that two of them are soon over."""

    def __init__(self) -> None:
        super().__init__(settings="passSeconds: 5\n")


def bound(cluster: Cluster) -> None:
    """Bring a pod that is decided for, one that asks, and one that does neither."""
    cluster.apply(pod("decided", annotations=assigned("6-7", mems="1")), pod("shares"))
    cluster.running("decided", "shares")
    cluster.apply(pod("asks", container(cpu="2", guaranteed=True), annotations=ASKS))
    cluster.running("asks")
    asked = uid(cluster, "asks")
    cluster.until("it has what it asks for", lambda: asked in own(cluster))


def writes(cluster: Cluster) -> dict[str, int]:
    """How much the agent has written so far, by where: cgroups, and its published object."""
    verbs = cluster.plane.requests(cluster.node.name)
    return {
        "cgroups": counted(cluster, WRITES),
        "object": sum(verb not in ("get", "list", "watch") for verb in verbs),
    }


def agent_process(cluster: Cluster, uid: str) -> int | None:
    """The process of the agent's pod on the node, None while there is none."""
    found = cluster.node.run(FIND.format(uid=uid)).split()
    return int(found[0]) if found else None


def restarts(cluster: Cluster) -> int:
    """How often the agent's container was started again in its pod."""
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    return sum(each["restartCount"] for each in agent["status"].get("containerStatuses", ()))


def warnings(cluster: Cluster) -> dict[tuple[str, str], str]:
    """The agent's Warning Events, by what they are about and their reason, with their words."""
    events = cluster.plane.ask("GET", "/api/v1/events?fieldSelector=type=Warning")["items"]
    return {
        (each["involvedObject"]["name"], each["reason"]): f"{each.get('count')}: {each['message']}"
        for each in events
        if "numa-agent" in (each.get("reportingComponent"), each["source"].get("component"))
    }


@dataclass(frozen=True, slots=True)
class Before:
    """What had been warned of before the trouble, and how often the agent had been restarted."""

    warned: dict[tuple[str, str], str]
    restarts: int

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        return cls(warned=warnings(cluster), restarts=restarts(cluster))


def comes_true(
    cluster: Cluster, what: str, problems: Callable[[], object], *, seconds: float = 120
) -> None:
    """Wait until there are no problems; AssertionError with the last ones otherwise."""
    last: list[object] = [None]

    def none() -> bool:
        last[0] = problems()
        return not last[0]

    try:
        cluster.until(what, none, seconds=seconds)
    except AssertionError as error:
        raise AssertionError(f"{what}: {last[0]}\n{error}") from None


def misaligned(cluster: Cluster) -> list[Json]:
    """Every container that asked for alignment and isn't shown to have it."""
    containers = json.loads(cluster.ask_agent("verify", "-o", "json"))["containers"]
    return [each for each in containers if each["asked"]["has_it"] is False]


def unpublished(cluster: Cluster) -> dict[str, str]:
    """The published CPUs that aren't what the pods leave, none where all is right."""
    taken = frozenset().union(*own(cluster).values())
    found = {}
    for zone, count in cluster.available().items():
        path = f"/sys/devices/system/node/{zone.replace('-', '')}/cpulist"
        left = cpulist.parse(cluster.node.read(path)) - taken
        if count != str(len(left)):
            found[zone] = f"{count}, not {len(left)}"
    return found or ({} if cluster.zones() else {"zones": "none"})


def settled(
    cluster: Cluster, before: Before, *, kills: int = 0, expected: Collection[str] = ()
) -> None:
    """Wait until all is as it would be without the trouble, and stays so without a write.

    Every pod runs and is held to exactly its CPUs, `verify` agrees, the published object says what
    they leave, no agent was started again but after `kills`, and none warned of anything but the
    `expected` reasons.
    """

    def unready() -> list[str]:
        pods = [each["metadata"] for each in running(cluster).values()]
        return [
            each["name"] for each in pods if not cluster.ready(each["name"], each["namespace"])
        ]

    cluster.until("it was started again", lambda: restarts(cluster) == before.restarts + kills)
    comes_true(cluster, "every pod is ready", unready)
    comes_true(cluster, "every pod is inside", lambda: outside(cluster))
    comes_true(cluster, "the published object is of now", lambda: unpublished(cluster))
    comes_true(cluster, "every container has what it asked for", lambda: misaligned(cluster))
    quiet(cluster)
    assert not outside(cluster)
    assert restarts(cluster) == before.restarts + kills
    new = [
        f"{name}: {reason}: {words}"
        for (name, reason), words in warnings(cluster).items()
        if before.warned.get((name, reason)) != words and reason not in expected
    ]
    assert new == []


def quiet(cluster: Cluster) -> None:
    """Assert that two passes of the agent write nothing, once it has had one that did not."""

    def another_pass() -> None:
        passes = counted(cluster, PASSES)
        cluster.until("a pass", lambda: counted(cluster, PASSES) > passes)

    first = writes(cluster)
    another_pass()
    if writes(cluster) != first:
        first = writes(cluster)
    another_pass()
    another_pass()
    assert writes(cluster) == first
