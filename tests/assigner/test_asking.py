"""What a pod asks of the assigner, by ACK's and Koordinator's words and its requests."""

from dataclasses import replace

import pytest

from numa_agent.core.assigner.asking import BIND_POLICY, Asking, asking
from numa_agent.core.assigner.values import Apart, Policy, Threads
from numa_agent.core.assignment import AssignmentError
from numa_agent.core.pods import QosClass
from numa_agent.core.requests import Demands, Role
from tests.assigner.scene import GIB, SPEC, asks, demand
from tests.machine_tree import pod

KOORDINATOR = "scheduling.koordinator.sh/numa-topology-spec"
RESOURCE = "scheduling.koordinator.sh/resource-spec"


def said(**annotations: str) -> Asking | None:
    return asking(asks(1, policy=None, annotations=annotations), kinds=())


def asked(pod: object, **facts: object) -> Asking:
    found = asking(pod, **facts)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_the_seed_s_pod_asks_for_its_cpus_on_one_node_without_keeping_others_off() -> None:
    found = asked(asks(1, 24, gpus=4))
    assert (found.wish.policy, found.wish.exclusive, found.wish.cpus) == (Policy.SINGLE, False, 24)
    assert found.containers == {"c1": 24}
    assert found.sharing == ()
    assert found.source == SPEC


def test_pods_of_one_node_and_of_several_keep_off_each_other_unless_it_is_only_preferred() -> None:
    assert asked(asks(1, exclusive=None)).wish.exclusive
    assert asked(asks(1, exclusive="Required")).wish.exclusive


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("key", [SPEC, KOORDINATOR])
def test_either_key_says_the_policy(key: str, policy: Policy) -> None:
    found = said(**{key: f'{{"numaTopologyPolicy": "{policy.value}"}}'})
    assert found is not None
    assert (found.wish.policy, found.source) == (policy, key)


def test_two_keys_that_say_the_same_are_one_and_two_that_differ_are_refused() -> None:
    single, best = (
        '{"numaTopologyPolicy": "SingleNUMANode"}',
        '{"numaTopologyPolicy": "BestEffort"}',
    )
    same = said(**{SPEC: single, KOORDINATOR: single})
    assert same is not None
    assert same.wish.policy is Policy.SINGLE
    with pytest.raises(AssignmentError, match="ask for different things") as refused:
        said(**{SPEC: single, KOORDINATOR: best})
    assert refused.value.code == "conflicting"


def test_the_switch_alone_asks_for_the_best_there_is() -> None:
    for word in ("required", "true"):
        found = said(**{"cpuset-scheduler": word})
        assert found is not None
        assert (found.wish.policy, found.wish.exclusive) == (Policy.BEST_EFFORT, False)


@pytest.mark.parametrize("policy", ["", None])
def test_a_spec_without_a_policy_asks_for_nothing(policy: str | None) -> None:
    text = "{}" if policy is None else '{"numaTopologyPolicy": ""}'
    assert said(**{SPEC: text}) is None


def test_a_pod_that_says_nothing_asks_only_where_everybody_is_served() -> None:
    quiet = asks(1, policy=None)
    assert asking(quiet) is None
    found = asked(quiet, everyone=True)
    assert (found.wish.policy, found.wish.exclusive, found.source) == (
        Policy.BEST_EFFORT,
        False,
        "",
    )
    assert asking(replace(quiet, qos=QosClass.BURSTABLE), everyone=True) is None
    shares = replace(quiet, demands=Demands(containers=(demand("c1", 1500),)))
    assert asking(shares, everyone=True) is None


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ({SPEC: '{"numaTopologyPolicy": "SingleNUMANode",}'}, "numa-topology-spec"),
        ({SPEC: '{"numaTopologyPolicy": "Sometimes"}'}, "Sometimes"),
        ({"cpuset-scheduler": "prefer"}, "prefer"),
        ({"cpuset-scheduler": "true", RESOURCE: '{"requiredCPUBindPolicy": "Half"}'}, "Half"),
        ({"cpuset-scheduler": "true", RESOURCE: "[]"}, "resource-spec"),
        (
            {"cpuset-scheduler": "true", RESOURCE: '{"preferredCPUExclusivePolicy": "All"}'},
            "All",
        ),
        ({"cpuset-scheduler": "true", "numa-agent.io/cpu-kind": "quantum"}, "quantum"),
    ],
)
def test_words_that_cannot_be_understood_are_named(annotations: dict[str, str], word: str) -> None:
    with pytest.raises(AssignmentError, match=word):
        said(**annotations)


@pytest.mark.parametrize(
    ("spec", "threads", "apart"),
    [
        ("{}", Threads.WHOLE_CORES, Apart.NOBODY),
        ('{"requiredCPUBindPolicy": "FullPCPUs"}', Threads.ONLY_WHOLE_CORES, Apart.NOBODY),
        ('{"preferredCPUBindPolicy": "FullPCPUs"}', Threads.WHOLE_CORES, Apart.NOBODY),
        ('{"preferredCPUBindPolicy": "SpreadByPCPUs"}', Threads.SPREAD, Apart.NOBODY),
        ('{"requiredCPUBindPolicy": "SpreadByPCPUs"}', Threads.SPREAD, Apart.NOBODY),
        ('{"preferredCPUExclusivePolicy": "PCPULevel"}', Threads.WHOLE_CORES, Apart.CORES),
        ('{"preferredCPUExclusivePolicy": "NUMANodeLevel"}', Threads.WHOLE_CORES, Apart.NODES),
    ],
)
def test_koordinator_s_words_say_which_threads_and_who_is_kept_off(
    spec: str, threads: Threads, apart: Apart
) -> None:
    found = said(**{"cpuset-scheduler": "true", RESOURCE: spec})
    assert found is not None
    assert (found.wish.threads, found.wish.apart) == (threads, apart)


def test_the_node_s_label_counts_more_than_the_pod_s_words() -> None:
    pod = asks(1, annotations={RESOURCE: '{"preferredCPUBindPolicy": "SpreadByPCPUs"}'})
    found = asked(pod, labels={BIND_POLICY: "FullPCPUsOnly"})
    assert found.wish.threads is Threads.ONLY_WHOLE_CORES


def test_a_container_with_whole_cpus_gets_its_own_and_the_others_share() -> None:
    pod = asks(
        1,
        demands=[
            demand("setup", 500, role=Role.INIT),
            demand("proxy", 250, role=Role.SIDECAR),
            demand("main", 4000),
            demand("burst", 2000, 4000),
            demand("none", 0),
        ],
    )
    found = asked(pod)
    assert found.containers == {"main": 4}
    assert found.sharing == ("proxy", "burst", "none")
    assert (found.wish.cpus, found.wish.shared_millis) == (4, 2250)


def test_an_init_container_that_wants_more_than_those_that_stay_has_it_from_the_start() -> None:
    pod = asks(
        1,
        demands=[
            demand("side", 1000, role=Role.SIDECAR),
            demand("setup", 6000, role=Role.INIT),
            demand("main", 4000),
        ],
    )
    found = asked(pod)
    assert found.wish.cpus == 7
    assert found.containers == {"side": 1, "main": 4}


def test_whole_cpus_of_a_pod_as_a_whole_are_the_pod_s() -> None:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-level-resources/"""
    pod = replace(
        asks(1),
        demands=Demands(
            containers=(demand("a", 0), demand("b", 0)),
            pod={"cpu": 6000},
            pod_limits={"cpu": 6000},
        ),
    )
    found = asked(pod)
    assert (found.wish.cpus, found.containers) == (6, {})


def test_memory_counts_at_the_greediest_moment() -> None:
    amounts = {"cpu": 4000, "memory": 8 * GIB, "hugepages-2Mi": GIB}
    one = replace(demand("main", 0), requests=amounts, limits=amounts)
    assert asked(asks(1, demands=[one])).wish.memory == {
        "memory": 8 * GIB,
        "hugepages-2Mi": GIB,
    }


@pytest.mark.parametrize("label", ["LS", "BE"])
def test_classes_that_share_get_no_cpus_of_their_own(label: str) -> None:
    found = asked(replace(asks(1, 4), labels={"koordinator.sh/qosClass": label}))
    assert (found.wish.cpus, found.wish.shared_millis) == (0, 4000)
    assert found.sharing == ("c1",)


def test_beside_kubelet_s_static_policy_a_pod_shares_the_cpus_of_its_nodes() -> None:
    found = asked(asks(1, 4), kubelet_static=True)
    assert (found.wish.cpus, found.sharing) == (0, ("c1",))


def test_a_kind_of_cpus_is_asked_for_by_its_name() -> None:
    pod = asks(1, annotations={"numa-agent.io/cpu-kind": "atom"})
    assert asked(pod, kinds=["core", "atom"]).wish.kind == "atom"


def test_a_pod_without_annotations_is_no_business_of_ours() -> None:
    assert asking(pod(1)) is None
