"""`numa-agent doctor` against a real API server: rights, definitions, publishers, clock."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from numa_agent.cli import main
from numa_agent.cluster.inspecting import inspector
from numa_agent.core.doctor.rights import Right, rights_for
from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import APPLY, TOPOLOGIES, make_node, service_account_token, topology
from tests.podresources.servers import kubelet
from tests.recorded import ROOT, copied, machine

pytestmark = pytest.mark.apiserver

NODE = "doctor-node"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NEEDED = rights_for(
    "kube-scheduler", events=True, token_reviews=False, configz=False, gpu_map=False
)


@pytest.fixture(scope="module")
def live_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine's root without recorded answers: the API server and kubelet are asked for them."""
    root = tmp_path_factory.mktemp("live") / "host"
    copied(machine("two-socket-8gpu"), root)
    (root / "recorded.yaml").unlink()
    shutil.rmtree(root / "answers")
    socket = root / "var/lib/kubelet/pod-resources/kubelet.sock"
    socket.parent.mkdir(parents=True, exist_ok=True)
    with kubelet(socket, {"list": {}, "allocatable": {}}):
        yield root


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane) -> str:
    make_node(control_plane, NODE)
    return NODE


def agent(plane: ControlPlane, name: str, *lacking: str) -> Path:
    """The kubeconfig of a ServiceAccount with the manifest's rights, but for some of them."""
    token = service_account_token(plane, name)
    documents = yaml.safe_load_all((ROOT / "manifests/base/rbac.yaml").read_text())
    role: dict[str, Any] = next(
        each
        for each in documents
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == "numa-agent"
    )
    for rule in role["rules"]:
        kept = [verb for verb in rule["verbs"] if f"{verb} {rule['resources'][0]}" not in lacking]
        rule["verbs"] = kept or ["deletecollection"]
    named = {**role, "metadata": {"name": name}}
    plane.ask("POST", f"{RBAC}/clusterroles", named)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
    }
    plane.ask("POST", f"{RBAC}/clusterrolebindings", binding)
    kubeconfig = plane.kubeconfig_for(name, token)
    left = next(right for right in NEEDED if right.label.partition(".")[0] not in lacking)
    settle(kubeconfig, left)
    return kubeconfig


def settle(kubeconfig: Path, right: Right) -> None:
    """Wait until the server knows of a right that was given."""
    with closing(inspector(kubeconfig)) as asked:
        for _ in range(600):
            if asked.may(right):
                return
            time.sleep(0.1)
    raise AssertionError(f"{right.label} isn't given after a minute")


def doctor(
    root: Path,
    kubeconfig: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *more: str,
) -> tuple[int, dict[str, Any]]:
    path = tmp_path / "config.yaml"
    path.write_text(f"hostRoot: {root}\nliveRoot: {root}\nkubeconfig: {kubeconfig}\n")
    words = ("doctor", "--config", str(path), "--nvml", "off", "-o", "json")
    status = main([*words, "--node-name", NODE, *more])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, answer


def found(answer: dict[str, Any], *codes: str) -> dict[str, list[str]]:
    """The subjects by the code, of some codes."""
    subjects: dict[str, list[str]] = {}
    for each in answer["findings"]:
        if each["code"] in codes:
            subjects.setdefault(each["code"], []).append(each["subject"])
    return subjects


OF_CLUSTER = (
    *("api-server-unreachable", "right-missing", "right-for-events-missing", "crd-missing"),
    *("asked-as-somebody-else", "second-publisher", "clock-skewed", "node-is-another-machine"),
    *("source-failing",),
)


def test_an_agent_with_the_manifest_s_rights_is_well(
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubeconfig = agent(control_plane, "doctor-whole")
    _, answer = doctor(live_machine, kubeconfig, tmp_path, capsys)
    assert found(answer, *OF_CLUSTER) == {}
    well = {"api-server", "rights", "crds", "second-publishers", "clock", "pass-sources"}
    assert well <= set(answer["well"])


@pytest.mark.parametrize("right", NEEDED, ids=lambda right: right.label.replace(" ", "-"))
def test_each_right_that_is_missing_is_named(
    right: Right,
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = f"doctor-{right.verb}-{right.resource}"
    kubeconfig = agent(control_plane, name, f"{right.verb} {right.resource}")
    status, answer = doctor(live_machine, kubeconfig, tmp_path, capsys)
    code = "right-for-events-missing" if right.resource == "events" else "right-missing"
    assert found(answer, "right-missing", "right-for-events-missing") == {code: [right.label]}
    (finding,) = [each for each in answer["findings"] if each["code"] == code]
    assert f"system:serviceaccount:default:{name} may not {right.label}" in finding["evidence"]
    assert status == (0 if right.resource == "events" else 1)


def test_who_isn_t_the_agent_is_told_whose_rights_were_looked_at(
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, answer = doctor(live_machine, control_plane.stranger_kubeconfig, tmp_path, capsys)
    assert status == 1
    assert found(answer, "asked-as-somebody-else") == {"asked-as-somebody-else": ["stranger"]}
    missing = found(answer, "right-missing", "right-for-events-missing")
    subjects = [subject for each in missing.values() for subject in each]
    assert sorted(subjects) == sorted(right.label for right in NEEDED)
    _, answer = doctor(live_machine, control_plane.kubeconfig, tmp_path, capsys)
    assert found(answer, *OF_CLUSTER) == {"asked-as-somebody-else": ["admin"]}


def test_a_token_that_isn_t_known_is_a_fault_and_asks_for_nothing_more(
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody", "of-nobody")
    status, answer = doctor(live_machine, kubeconfig, tmp_path, capsys)
    assert status == 1
    assert found(answer, *OF_CLUSTER) == {"api-server-unreachable": ["API server"]}
    assert "rights" not in answer["well"]


def test_definitions_that_aren_t_there_are_named(
    bare_control_plane: ControlPlane,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_node(bare_control_plane, NODE)
    kubeconfig = bare_control_plane.kubeconfig
    status, answer = doctor(
        live_machine, kubeconfig, tmp_path, capsys, "--scheduler", "koordinator"
    )
    assert status == 1
    assert found(answer, "crd-missing") == {"crd-missing": ["noderesourcetopologies", "devices"]}


def test_another_publisher_is_named_and_nothing_is_written(
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = f"{TOPOLOGIES}/{NODE}"
    manifest = topology(NODE)
    control_plane.ask("PATCH", f"{path}?fieldManager=nfd", manifest, content_type=APPLY)
    before = control_plane.ask("GET", path)
    try:
        _, answer = doctor(live_machine, control_plane.kubeconfig, tmp_path, capsys)
    finally:
        after = control_plane.ask("GET", path)
        control_plane.ask("DELETE", path)
    assert found(answer, "second-publisher") == {
        "second-publisher": [f"NodeResourceTopology {NODE}"]
    }
    (finding,) = [each for each in answer["findings"] if each["code"] == "second-publisher"]
    assert "nfd (Apply) owns" in finding["evidence"]
    assert after == before


def test_a_node_that_is_another_machine_is_a_fault(
    control_plane: ControlPlane,
    node: str,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    boot_id = live_machine / "proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("7f0c0000-0000-4000-8000-000000000001\n")
    names = (
        *("machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion"),
        *("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
    )
    path = f"/api/v1/nodes/{NODE}"
    stored = control_plane.ask("GET", path)
    stored["status"] = {"nodeInfo": {"bootID": "another", **dict.fromkeys(names, "x")}}
    control_plane.ask("PUT", f"{path}/status", stored)
    try:
        status, answer = doctor(live_machine, control_plane.kubeconfig, tmp_path, capsys)
    finally:
        shutil.rmtree(boot_id.parents[2])
    assert status == 1
    told = found(answer, "node-is-another-machine", "source-failing")
    assert told == {"node-is-another-machine": [NODE]}


def test_a_node_that_isn_t_in_the_cluster_is_said(
    control_plane: ControlPlane,
    live_machine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--node-name", "no-such-node")
    status, answer = doctor(live_machine, control_plane.kubeconfig, tmp_path, capsys, *words)
    assert status == 1
    assert "source-failing" in found(answer, "source-failing")
    assert "boot-id" not in answer["well"]
