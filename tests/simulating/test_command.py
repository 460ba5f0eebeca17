"""`numa-agent simulate` on recorded machines."""

import json
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from numa_agent.core.cpulist import parse
from tests.recorded import MACHINES, copied, machine

TRAIN = """\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    cpuset-scheduler: required
    scheduling.alibabacloud.com/numa-topology-spec: |
      {"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"}
spec:
  containers:
    - name: main
      image: trainer
      resources:
        limits: {aliyun.com/gpu: "4", cpu: "24"}
        requests: {aliyun.com/gpu: "4", cpu: "24"}
"""
WEB = """\
---
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    metadata: {annotations: {cpuset-scheduler: "true"}}
    spec:
      containers:
        - name: main
          resources: {limits: {cpu: 3, memory: 1Gi}}
"""


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    file = tmp_path / "pods.yaml"
    file.write_text(TRAIN + WEB)
    return file


def simulated(
    capsys: pytest.CaptureFixture[str], *words: str | Path
) -> tuple[int, dict[str, Any]]:
    status = main(["simulate", *map(str, words), "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_pod_for_4_gpus_gets_24_cpus_beside_them(
    pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = machine("two-socket-8gpu")
    status, found = simulated(capsys, pods, "--host-root", root, "--gpus-as", "aliyun.com/gpu")
    assert status == 0
    assert found["format"] == "numa-agent.simulation/v1"
    train = found["pods"][0]
    assert train["pod"] == "default/train"
    assert (train["fate"], train["aligned"]) == ("placed", True)
    assert train["numa_nodes"] == train["device_numa_nodes"] == [0]
    assert train["cpus"] == "1-12,113-124"
    assert len({*train["devices"]}) == 4
    assert found["slots_before"]["gpu_resource"] == "aliyun.com/gpu"
    # The pod that runs there has 4 GPUs of the other name.
    shapes = [each["shape"] for each in found["slots_before"]["shapes"]]
    assert shapes == ["24c4g256Gi", "3c1Gi"]


def test_a_table_is_for_people_and_compares(
    pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(machine("two-socket-8gpu"))
    words = ["simulate", str(pods), "--host-root", root, "--compare", "--shape", "8c"]
    assert main(words) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "POD            BECOMES  CPUS       NODES  DEVICES  ON  ALIGNED  WHY"
    assert "no-room: the node offers no aliyun.com/gpu; its GPUs are offered as nvidia" in said[1]
    assert said[2].split()[:3] == ["default/web-0", "placed", "1-2,113"]
    assert [line.split()[0] for line in said[5:7]] == ["SHAPE", "8c"]
    assert said[8].startswith("CPUS CHOSEN BY")
    names = ["numa-agent's assigner", "first fit by CPU id", "kubelet's static policy"]
    assert [line.split("  ")[0] for line in said[9:12]] == names


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_every_machine_has_an_answer_and_nothing_of_it_is_written(
    folder: Path, pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    _, found = simulated(capsys, pods, "--host-root", folder, "--compare")
    assert [each["pod"] for each in found["pods"]] == [
        "default/train",
        "default/web-0",
        "default/web-1",
    ]
    for each in found["pods"]:
        assert bool(each["message"]) == (each["fate"] in ("waiting", "unplaced"))
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_on_kubelet_s_static_policy_it_is_said_what_isn_t_simulated(
    pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found = simulated(capsys, pods, "--host-root", machine("four-node-snc"), "--compare")
    assert "which isn't simulated" in found["notes"][0]
    assert (found["pods"][1]["cpus"], len(found["pods"][1]["numa_nodes"])) == ("", 1)
    # Nobody gets CPUs of its own from the assigner here, so that none are compared.
    assert {each["placed"] for each in found["compared"]} == {0}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("kind: Pod\n", "pods.yaml: document 1 (Pod): it has no metadata"),
        (TRAIN + "---\nkind: Service\n", "document 2 (Service): 'Service' makes no pods"),
        (TRAIN + "---\na: [\n", "pods.yaml: document 2: it isn't YAML: line 18, column 1"),
        ("", "pods.yaml: there is no pod in it"),
        ("---\n---\n", "pods.yaml: there is no pod in it"),
        (TRAIN.replace("name: train", "name: train-0\n  namespace: ml"), "it runs here already"),
    ],
)
def test_what_isn_t_a_file_of_pods_is_refused_with_file_and_document(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(content)
    assert main(["simulate", str(file), "--host-root", str(machine("two-socket-8gpu"))]) == 2
    assert said in capsys.readouterr().err


def test_gpus_that_aren_t_offered_have_no_other_name(
    pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(machine("four-node-snc"))
    assert main(["simulate", str(pods), "--host-root", root, "--gpus-as", "a.b/gpu"]) == 2
    assert "--gpus-as a.b/gpu: kubelet is offered no GPUs here" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["cpu", "", "a b/gpu", "kubernetes.io/gpu", "x/"])
def test_gpus_are_offered_as_an_extended_resource(
    name: str, pods: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(machine("two-socket-8gpu"))
    assert main(["simulate", str(pods), "--host-root", root, "--gpus-as", name]) == 2
    assert "--gpus-as: gpuResource must " in capsys.readouterr().err


def test_what_the_assigner_itself_would_have_given_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    answer = root / "answers" / "pods.json"
    found = json.loads(answer.read_text())
    train = next(each for each in found["items"] if each["metadata"]["name"] == "train-0")
    train["metadata"]["annotations"] = {
        "scheduling.koordinator.sh/numa-topology-spec": '{"numaTopologyPolicy": "SingleNUMANode"}'
    }
    answer.write_text(json.dumps(found))
    main(["slots", "--host-root", str(root), "--shape", "8c", "-o", "json"])
    (shape,) = json.loads(capsys.readouterr().out)["shapes"]
    # A core is reserved of the first node, and 24 CPUs of the second are the pod's.
    assert [each["slots"] for each in shape["numa_nodes"]] == [110 // 8, (112 - 24) // 8]
    file = tmp_path / "pods.yaml"
    file.write_text(WEB.replace("replicas: 2", "replicas: 20").replace("cpu: 3", "cpu: 8"))
    _, done = simulated(capsys, file, "--host-root", root)
    given = [cpu for each in done["pods"] for cpu in parse(each["cpus"])]
    assert len(given) == len({*given})
    assert not {*given} & parse("56-67,168-179")
    assert not (root / "run").exists()


def test_a_gpu_on_a_node_without_cpus_counts_as_given_where_it_was_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One of its three GPUs is held, and one is on a node without CPUs.
    file = tmp_path / "pods.yaml"
    limits = "{resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}, name: main}"
    file.write_text(
        "kind: Deployment\nmetadata: {name: a}\nspec: {replicas: 2, template: {metadata:"
        ' {annotations: {cpuset-scheduler: "true"}}, spec: {containers: [' + limits + "]}}}\n"
    )
    root = machine("accelerators")
    _, found = simulated(capsys, file, "--host-root", root, "--shape", "1g")
    assert [each["fate"] for each in found["pods"]] == ["placed", "placed"]
    assert found["slots_before"]["shapes"][0]["slots"] == 2
    assert found["slots_after"][0]["slots_if_on_one_node"] == 0
    assert [each["slots"] for each in found["slots_after"][0]["numa_nodes"]] == [0, 0]
