"""Who may have written a set, by what others are known to want."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core import cpulist
from numa_agent.core.cpulist import CpuSet
from numa_agent.core.drift import Evidence, Suspect, Writer, likely_writer


def cpus(text: str) -> CpuSet:
    return cpulist.parse(text)


MACHINE = cpus("0-7")
KUBELET = Evidence(online=MACHINE, shared=cpus("0-1,4-7"), exclusive=cpus("2-3"))
SYSTEMD = Evidence(online=MACHINE, systemd=True, allowed=cpus("1-2"), spec=cpus("1-2"))
PLAIN = Evidence(online=MACHINE, spec=cpus("6"))
BARE = Evidence(online=MACHINE, systemd=True, allowed=cpus(""))


@pytest.mark.parametrize(
    ("seen", "evidence", "writer", "because"),
    [
        (
            "2-3",
            KUBELET,
            Writer.KUBELET_STATIC,
            "2-3 is what kubelet's static policy gave it alone",
        ),
        (
            "0-1,4-7",
            KUBELET,
            Writer.KUBELET_STATIC,
            "0-1,4-7 is the shared pool of kubelet's static policy",
        ),
        (
            "1-2",
            SYSTEMD,
            Writer.SYSTEMD,
            "1-2 is what the systemd unit allows and the set of the container's spec",
        ),
        ("6", PLAIN, Writer.RUNTIME_UPDATE, "6 is the set of the container's spec"),
        ("0-7", BARE, Writer.SYSTEMD, "0-7 is what systemd leaves a unit without a set"),
        (
            "",
            BARE,
            Writer.SYSTEMD,
            "the empty set is what systemd leaves a unit without a set",
        ),
        ("4", PLAIN, Writer.KERNEL_HOTPLUG, "4 is ours without what is offline"),
        ("0-7", PLAIN, Writer.UNKNOWN, "0-7 is what nobody is known to want"),
        ("", PLAIN, Writer.UNKNOWN, "the empty set is what nobody is known to want"),
        ("7", KUBELET, Writer.UNKNOWN, "7 is what nobody is known to want"),
    ],
)
def test_the_writer_is_who_wants_that_set(
    seen: str, evidence: Evidence, writer: Writer, because: str
) -> None:
    wanted = cpus("4,99")
    assert likely_writer(wanted, cpus(seen), evidence) == Suspect(writer=writer, because=because)


def test_kubelet_comes_before_the_runtime_and_systemd_that_it_told_its_set() -> None:
    evidence = Evidence(
        online=MACHINE, shared=cpus("0-3"), spec=cpus("0-3"), allowed=cpus("0-3"), systemd=True
    )
    suspect = likely_writer(cpus("4"), cpus("0-3"), evidence)
    assert suspect.writer is Writer.KUBELET_STATIC
    assert suspect.because == (
        "0-3 is the shared pool of kubelet's static policy and what the systemd unit allows"
        " and the set of the container's spec"
    )


def test_memory_nodes_are_judged_as_cpus_are() -> None:
    evidence = Evidence(online=cpus("0-1"), allowed=cpus("1"))
    assert likely_writer(cpus("0"), cpus("1"), evidence).writer is Writer.SYSTEMD


SETS = st.frozensets(st.integers(0, 5), max_size=4)
MAYBE = st.none() | SETS
EVIDENCE = st.builds(
    Evidence,
    online=SETS,
    shared=MAYBE,
    exclusive=MAYBE,
    spec=MAYBE,
    allowed=MAYBE,
    systemd=st.booleans(),
)


@given(wanted=SETS, seen=SETS, evidence=EVIDENCE)
def test_nobody_is_blamed_for_a_set_that_isn_t_his(
    wanted: CpuSet, seen: CpuSet, evidence: Evidence
) -> None:
    theirs: dict[Writer, list[CpuSet | None]] = {
        Writer.KUBELET_STATIC: [evidence.shared, evidence.exclusive],
        Writer.SYSTEMD: [
            evidence.allowed,
            *([evidence.online, frozenset[int]()] if evidence.systemd else []),
        ],
        Writer.RUNTIME_UPDATE: [evidence.spec],
        Writer.KERNEL_HOTPLUG: [wanted & evidence.online],
    }
    writer = likely_writer(wanted, seen, evidence).writer
    if writer is Writer.UNKNOWN:
        assert not seen or all(seen not in sets for sets in list(theirs.values())[:3])
    else:
        assert seen in theirs[writer]
    if writer is Writer.KERNEL_HOTPLUG:
        # The kernel never leaves a set empty, and what it leaves whole it didn't write.
        assert seen not in (wanted, frozenset())
