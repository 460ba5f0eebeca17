"""A node where systemd has the cgroups: docs/binding.md promises the same as elsewhere."""

from functools import partial
from pathlib import Path

import pytest

from tests.e2e.bench.bench import Bench
from tests.e2e.bench.cgroups import Layout
from tests.e2e.cluster import NAMESPACE, Born, Cluster
from tests.e2e.pods import LOOK, assigned, container, pod
from tests.e2e.seed import ready_agent, writes

SYSTEMD = partial(Bench, layout=Layout(driver="systemd"))

RELOAD = "systemctl daemon-reload"
SET = "systemctl set-property --runtime kubepods.slice"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.parametrize("bench", [SYSTEMD], indirect=True, scope="session"),
    pytest.mark.skipif(
        not Path("/lib/systemd/systemd").exists() or not Path("/usr/bin/dbus-daemon").exists(),
        reason="needs Debian's systemd and dbus",
    ),
]


def unit(cluster: Cluster, name: str, of_container: str = "") -> str:
    """The systemd unit of a pod, or of one of its containers."""
    manifest = cluster.pod(name)
    layout = cluster.node.layout
    path = layout.container(manifest, of_container) if of_container else layout.pod(manifest)
    return path.rpartition("/")[2]


def test_a_pod_is_born_inside_in_its_slice(cluster: Cluster) -> None:
    before = cluster.available()
    init = [container("first", script=LOOK), container("sidecar", restartPolicy="Always")]
    cluster.apply(pod("born", annotations=assigned("6-7", mems="1"), init=init))
    cluster.running("born")
    for name in ("first", "sidecar", "app"):
        assert cluster.born("born", name) == Born(cpus="6-7", mems="1"), name
    assert cluster.verdicts("born") == {"app": "aligned", "sidecar": "aligned"}
    assert cluster.in_force("born") == cluster.in_force("born", "app") == ("6-7", "1")
    less = {**before, "node-1": str(int(before["node-1"]) - 2)}
    cluster.until("the published availability drops", lambda: cluster.available() == less)
    for each, kind in ((unit(cluster, "born"), "slice"), (unit(cluster, "born", "app"), "scope")):
        said = cluster.node.run(f"systemctl show {each} -p Id -p ActiveState")
        assert f"Id={each}" in said
        assert each.endswith(f".{kind}")
        assert "ActiveState=active" in said
    ours = unit(cluster, "born")
    cluster.delete("born")
    cluster.until("availability is back", lambda: cluster.available() == before)
    listed = f"systemctl list-units --all '{ours}' --no-legend --plain; ls -R /run/systemd"
    name = ours.removesuffix(".slice")
    cluster.until("nothing of it is left", lambda: name not in cluster.node.run(listed))


def test_what_systemd_does_to_its_units_leaves_a_pod_inside(cluster: Cluster) -> None:
    cluster.apply(pod("stays", annotations=assigned("6-7", mems="1")))
    cluster.running("stays")
    held = ("6-7", "1")
    assert cluster.in_force("stays") == held
    ours = unit(cluster, "stays")
    written = cluster.until("said", lambda: writes(cluster, "stays"))
    for command in (
        RELOAD,
        f"{SET} CPUWeight=200",
        f"systemctl set-property --runtime {ours} CPUWeight=50",
        f"systemctl set-property --runtime {unit(cluster, 'stays', 'app')} CPUWeight=50",
        RELOAD,
        "systemctl daemon-reexec",
    ):
        cluster.node.run(command)
        assert cluster.in_force("stays") == cluster.in_force("stays", "app") == held, command
    # Nobody had to write again.
    assert writes(cluster, "stays") == written
    assert cluster.verdicts("stays") == {"app": "aligned"}
    first = cluster.agent
    cluster.kubectl("delete", "pod", "-n", NAMESPACE, first, seconds=60)
    cluster.until("another agent", lambda: ready_agent(cluster) not in ("", first))
    assert writes(cluster, "stays") == []
    assert cluster.in_force("stays") == held


def test_a_set_that_systemd_is_told_for_a_pods_slice_is_written_over(cluster: Cluster) -> None:
    """docs/binding.md, drift: somebody else changed a set of ours, and it is written again."""
    cluster.apply(pod("drifts", annotations=assigned("6-7")))
    cluster.running("drifts")
    ours = unit(cluster, "drifts")
    for theirs in ("0-3", "0-5"):
        cluster.node.run(f"systemctl set-property --runtime {ours} AllowedCPUs={theirs}")
        again = f"CPUs {theirs} -> 6-7"
        cluster.until(again, lambda again=again: again in "".join(writes(cluster, "drifts")))  # type: ignore[misc]
        assert cluster.in_force("drifts")[0] == "6-7"
    # systemd gives its units what they are allowed when it reads their files anew.
    cluster.node.run(RELOAD)
    cluster.until("inside", lambda: cluster.in_force("drifts")[0] == "6-7")
    assert cluster.verdicts("drifts") == {"app": "aligned"}


def test_a_pod_outside_of_what_kubepods_may_use_is_told_and_comes_back(cluster: Cluster) -> None:
    cluster.apply(pod("out", annotations=assigned("6-7")), pod("in", annotations=assigned("2-3")))
    cluster.running("out", "in")
    try:
        cluster.node.run(f"{SET} AllowedCPUs=0-3")
        # What the kernel does with a set that shares nothing with its parent's, once systemd has
        # written that: it answers before.
        cluster.until("outside", lambda: cluster.in_force("out")[0] == "0-3")
        assert cluster.in_force("in")[0] == "2-3"
        cluster.until("told", lambda: cluster.verdicts("out") == {"app": "remote"})
        print(cluster.events("out"), cluster.verify("out"))
        assert cluster.verdicts("in") == {"app": "aligned"}
    finally:
        # An empty AllowedCPUs= leaves the set: https://github.com/systemd/systemd/issues/43846
        cluster.node.run(f"{SET} AllowedCPUs=0-7")
    cluster.until("inside again", lambda: cluster.in_force("out")[0] == "6-7")
    cluster.until("aligned", lambda: cluster.verdicts("out") == {"app": "aligned"})


def test_pods_that_come_at_once_are_all_born_inside(cluster: Cluster) -> None:
    wanted = {f"pod-{cpu}": str(cpu) for cpu in range(1, 8)}
    cluster.apply(
        *(
            pod(name, container(cpu="100m", guaranteed=cpu in "246"), annotations=assigned(cpu))
            for name, cpu in wanted.items()
        )
    )
    cluster.running(*wanted)
    assert {name: cluster.born(name).cpus for name in wanted} == wanted
    assert all(cluster.verdicts(name) == {"app": "aligned"} for name in wanted)


def test_crun_with_systemd_starts_a_pod_inside(cluster: Cluster) -> None:
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "crun"},
        "handler": "crun",
    }
    cluster.apply(runtime, pod("by-crun", annotations=assigned("6-7"), runtimeClassName="crun"))
    cluster.running("by-crun")
    assert cluster.born("by-crun").cpus == "6-7"
    assert cluster.verdicts("by-crun") == {"app": "aligned"}
