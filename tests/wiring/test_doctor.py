"""What the doctor looks at on a live machine, a recorded one and a bare folder."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from numa_agent.config import SCHEDULERS, Config
from numa_agent.core.doctor import Diagnosis
from numa_agent.core.doctor.rights import rights_for
from numa_agent.wiring.doctor import doctor_once, examine
from tests.machine_tree import Tree, two_socket_tree
from tests.recorded import ROOT, copied, machine


def config(root: Path, *, live: Path = Path("/"), **more: Any) -> Config:
    return Config(host_root=root, live_root=live, node_name=None, kubeconfig=None, **more)


def codes(diagnosis: Diagnosis) -> set[str]:
    return {finding.rule.code for finding in diagnosis.findings}


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kubeconfig that isn't there, and no pod's ServiceAccount."""
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "no-kubeconfig"


def rules(name: str) -> set[tuple[str, str, str, str]]:
    """Group, resource, verb and namespace of all roles of a manifest."""
    documents = yaml.safe_load_all((ROOT / "manifests" / name).read_text())
    return {
        (group, resource, verb, document["metadata"].get("namespace", ""))
        for document in documents
        if document["kind"] in ("ClusterRole", "Role") and "assigner" not in str(document)
        for rule in document["rules"]
        if "resources" in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def wanted(scheduler: str, **more: bool) -> set[tuple[str, str, str, str]]:
    options = {"events": True, "token_reviews": False, "configz": False, "gpu_map": False} | more
    found = rights_for(scheduler, **options)
    return {(each.group, each.resource, each.verb, each.namespace) for each in found}


def test_the_rights_that_are_looked_for_are_those_that_the_manifests_grant() -> None:
    base = rules("base/rbac.yaml")
    assert wanted("kube-scheduler") == base
    assert wanted("ack") == base
    assert wanted("koordinator") == base | rules("overlays/koordinator/rbac.yaml")
    reviews = rules("components/metrics-tls/rbac.yaml")
    assert wanted("ack", token_reviews=True) == base | reviews
    assert wanted("ack", gpu_map=True) == base | rules("components/gputopo/rbac.yaml")
    assert wanted("ack", configz=True) - base == {("", "nodes/proxy", "get", "")}
    assert base - wanted("ack", events=False) == {
        ("", "events", "create", ""),
        ("", "events", "patch", ""),
    }


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_recorded_machine_is_examined_in_every_language(scheduler: str) -> None:
    seen = examine(config(machine("two-socket-8gpu"), scheduler=scheduler))
    assert seen.scheduler == scheduler
    assert seen.agent.failures.value == ()
    assert seen.cluster.node.value is not None
    assert seen.cluster.rights.why == seen.kernel.swap_bytes.why or seen.cluster.rights.why


def test_what_a_recorded_machine_has_of_settings_is_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    tree = Tree(root).file("proc/sys/vm/zone_reclaim_mode", "1")
    tree.file("proc/cmdline", "numa=off").file("proc/sys/kernel/random/boot_id", "another")
    (root / "sys/fs/cgroup/system.slice/irqbalance.service").mkdir()
    found = codes(doctor_once(config(root)))
    assert found >= {
        "zone-reclaim-on",
        "numa-switched-off",
        "node-is-another-machine",
        "irqbalance-running",
    }


def test_a_bare_folder_has_a_map_and_nothing_else(tmp_path: Path) -> None:
    two_socket_tree(tmp_path)
    diagnosis = doctor_once(config(tmp_path))
    assert {each.unseen.why for each in diagnosis.not_looked} >= {"not in this folder"}
    assert not set(diagnosis.well) & {"numa-balancing", "rights", "pass-sources", "swap", "clock"}
    assert "packages-and-nodes" in diagnosis.well


def test_a_live_machine_without_a_cluster_is_looked_at_all_the_same(
    tmp_path: Path, no_cluster: Path
) -> None:
    two_socket_tree(tmp_path)
    Tree(tmp_path).file("proc/sys/kernel/numa_balancing", "1")
    seen = replace(config(tmp_path, live=tmp_path), kubeconfig=no_cluster)
    diagnosis = doctor_once(seen)
    assert "numa-balancing-on" in codes(diagnosis)
    assert "agent-not-running" in codes(diagnosis)
    server = next(each for each in diagnosis.not_looked if "rights" in each.checks)
    assert "no kubeconfig at" in server.unseen.why
    assert "api-server-unreachable" not in codes(diagnosis)


def test_a_server_that_is_known_and_doesn_t_answer_is_a_fault(
    tmp_path: Path, no_cluster: Path
) -> None:
    two_socket_tree(tmp_path)
    no_cluster.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n"
        'clusters: [{name: a, cluster: {server: "http://127.0.0.1:9"}}]\n'
    )
    diagnosis = doctor_once(
        replace(config(tmp_path, live=tmp_path), kubeconfig=no_cluster, node_name="n")
    )
    assert "api-server-unreachable" in codes(diagnosis)
    assert "source-failing" not in codes(diagnosis)
    assert not diagnosis.good


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("cpu_manager_state", "{", "kubelet-state-unreadable"),
        ("memory_manager_state", "[]", "kubelet-state-unreadable"),
        ("config.yaml", "a: [", "kubelet-state-unreadable"),
        ("config.yaml", "reservedSystemCPUs: 7", "kubelet-setting-unread"),
        ("cpu_manager_state", '{"policyName": "static"}', "policy-not-in-force"),
    ],
)
def test_a_bad_file_of_kubelet_s_is_one_finding_with_its_path_on_the_machine(
    name: str, text: str, code: str, tmp_path: Path
) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    (root / "var/lib/kubelet" / name).write_text(text)
    findings = [
        finding
        for finding in doctor_once(config(root)).findings
        if finding.rule.code in (code, "source-failing")
    ]
    assert [finding.rule.code for finding in findings] == [code]
    assert str(tmp_path) not in findings[0].evidence


def test_a_recorded_machine_without_its_node_says_so_by_the_file_s_name(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    (root / "answers/node.json").unlink()
    diagnosis = doctor_once(config(root))
    lacking = {each.unseen.source: each.unseen.why for each in diagnosis.not_looked}
    assert lacking["answers/node.json"].startswith("answers/node.json: not there")
    (failing,) = [each for each in diagnosis.findings if each.rule.code == "source-failing"]
    assert failing.evidence.startswith("answers/node.json: not there")


def test_kubelet_s_own_word_is_taken_where_it_is_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    seen = examine(config(root, kubelet_config="configz"))
    assert seen.kubelet.settings.failed
    (root / "answers/configz.json").write_text(
        '{"kubeletconfig": {"topologyManagerPolicy": "restricted"}}'
    )
    seen = examine(config(root, kubelet_config="configz"))
    assert seen.kubelet.settings.value is not None
    assert seen.kubelet.settings.value.topology_manager_policy == "restricted"


def test_what_a_plain_user_may_not_read_isn_t_at_fault() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(folder) / "machine"
        copied(machine("two-socket-8gpu"), root)
        for name in ("cpu_manager_state", "config.yaml"):
            (root / "var/lib/kubelet" / name).chmod(0)
        os.seteuid(65534)
        try:
            found = doctor_once(config(root))
        finally:
            os.seteuid(0)
    assert "kubelet-state-unreadable" not in codes(found)
    refused = {each.unseen.source for each in found.not_looked if "denied" in each.unseen.why}
    assert refused == {f"var/lib/kubelet/{name}" for name in ("cpu_manager_state", "config.yaml")}
    assert not {"kubelet-files", "kubelet-in-force"} & set(found.well)
