"""`numa-agent verify` and `explain` on recorded machines."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from tests.recorded import ROOT, copied

TWO_SOCKET = ROOT / "fixtures/sysfs/two-socket-8gpu"
CXL = TWO_SOCKET.parent / "cxl-expander"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs a command; its exit code and what it printed."""

    def run(*words: str) -> tuple[int, str]:
        status = main(list(words))
        return status, capsys.readouterr().out

    return run


def containers(said: Callable[..., tuple[int, str]], root: Path, *words: str) -> Any:
    _, printed = said("verify", *words, "--host-root", str(root), "-o", "json")
    answer = json.loads(printed)
    assert answer["format"] == "numa-agent.verify/v1"
    return {f"{each['pod']} {each['container']}": each for each in answer["containers"]}


def leaf(root: Path, text: str) -> Path:
    """The container's cgroup whose path has this in it."""
    (found,) = (
        each.parent for each in root.glob("sys/fs/cgroup/**/memory.numa_stat") if text in str(each)
    )
    return found


def test_a_container_that_has_all_in_one_node_is_aligned(
    said: Callable[..., tuple[int, str]],
) -> None:
    status, printed = said("verify", "--host-root", str(CXL))
    assert status == 0
    assert "db/main-0  postgres   aligned  has it  8-15 (node 0)" in printed
    assert printed.endswith("1 container: 1 asked for alignment, 1 of them has it\n")


def test_one_that_lacks_what_it_asked_for_makes_the_answer_bad(
    said: Callable[..., tuple[int, str]],
) -> None:
    status, printed = said("verify", "--host-root", str(TWO_SOCKET))
    assert status == 1
    assert "LACKS IT" in printed
    assert said("verify", "shop/web-5f7c9d8b6c-4tq2x", "--host-root", str(TWO_SOCKET))[0] == 0


def test_the_json_is_as_documented(said: Callable[..., tuple[int, str]]) -> None:
    (found,) = containers(said, CXL).values()
    assert found["verdict"] == "aligned"
    assert found["asked"]["has_it"] is True
    assert found["cpus"] == {"decided": "8-15", "effective": "8-15", "used": None}
    assert found["memory"]["per_node_bytes"]["0"] == 32 << 30
    assert found["devices"] == []
    assert [each["code"] for each in found["reasons"]] == ["aligned", "tasks-unseen"]


def test_memory_on_the_other_node_is_found(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    copy = copied(CXL, tmp_path / "machine")
    stat = next(copy.glob("sys/fs/cgroup/**/memory.numa_stat"))
    stat.write_text(stat.read_text().replace("N0=34359738368 N1=0", "N0=0 N1=34359738368"))
    (found,) = containers(said, copy).values()
    assert found["verdict"] == "remote"
    assert found["reasons"][0]["code"] == "memory-remote"


@pytest.mark.parametrize("damage", ["anon 7\n", "", "anon N0=1 N1\nfile N0=1\n", "\xff" * 40])
def test_an_account_that_is_damaged_costs_that_container_its_verdict_alone(
    said: Callable[..., tuple[int, str]], tmp_path: Path, damage: str
) -> None:
    copy = copied(CXL, tmp_path / "machine")
    stat = next(copy.glob("sys/fs/cgroup/**/memory.numa_stat"))
    stat.write_text(damage)
    _, printed = said("verify", "--host-root", str(copy), "-o", "json")
    answer = json.loads(printed)
    assert answer["containers"][0]["verdict"] == "unknown"
    assert [each for each in answer["failures"] if "memory" in each]


def test_a_machine_without_podresources_does_not_say_aligned(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    copy = copied(TWO_SOCKET, tmp_path / "machine")
    (copy / "answers/podresources.json").unlink()
    found = containers(said, copy)["ml/train-0 trainer"]
    assert "devices-unseen" in [each["code"] for each in found["reasons"]]


def test_a_pod_that_is_not_there_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "ml/nobody", "--host-root", str(CXL)]) == 2
    assert "no pod ml/nobody runs here" in capsys.readouterr().err
    assert main(["explain", "ml/nobody", "--host-root", str(CXL)]) == 2
    assert "no pod ml/nobody" in capsys.readouterr().err


def test_a_story_goes_from_the_wish_to_what_to_do(said: Callable[..., tuple[int, str]]) -> None:
    status, printed = said("explain", "ml/train-0", "--host-root", str(TWO_SOCKET))
    assert status == 1
    titles = [line.split("  ")[0] for line in printed.splitlines() if line and line[0] != " "]
    assert titles == [
        *("pod ml/train-0", "asked", "decided", "published", "written", "in force"),
        *("measured", "limits", "to do"),
    ]
    assert "to be written: kubepods.slice" in printed
    assert "--field-selector spec.nodeName=gpu-0" in printed


def test_a_story_is_json_for_programs(said: Callable[..., tuple[int, str]]) -> None:
    _, printed = said("explain", "db/main-0", "--host-root", str(CXL), "-o", "json")
    story = json.loads(printed)
    assert story["format"] == "numa-agent.explain/v1"
    assert story["todo"] == []
    assert story["containers"][0]["verdict"] == "aligned"
    assert story["chapters"][0]["title"] == "asked"


def test_a_pod_that_waits_is_told_where_there_is_room(
    said: Callable[..., tuple[int, str]],
) -> None:
    status, printed = said("explain", "ml/evaluate-0", "--host-root", str(TWO_SOCKET))
    assert status == 0
    assert "gpu-0 node 0: fits" in printed


def test_where_nothing_may_be_written_no_write_is_promised(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    copy = copied(TWO_SOCKET, tmp_path / "machine")
    (copy / "var/lib/kubelet/cpu_manager_state").unlink()
    config = copy / "var/lib/kubelet/config.yaml"
    config.write_text(
        config.read_text().replace("cpuManagerPolicy: none", "cpuManagerPolicy: static")
    )
    _, printed = said("explain", "ml/train-0", "--host-root", str(copy))
    assert "nothing may be written: no CPU is given out" in printed
    assert "its next pass makes these writes" not in printed


def test_the_mirror_of_a_static_pod_is_never_told_to_be_deleted(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    machine = TWO_SOCKET.parent / "single-node"
    copy = copied(machine, tmp_path / "machine")
    pods = copy / "answers/pods.json"
    listed = json.loads(pods.read_text())
    (mirror,) = (
        each
        for each in listed["items"]
        if "kubernetes.io/config.mirror" in each["metadata"].get("annotations", {})
    )
    annotations = mirror["metadata"]["annotations"]
    annotations["numa-agent.io/assignment"] = '{"version": 1, "cpus": "4000"}'
    pods.write_text(json.dumps(listed))
    name = f"{mirror['metadata']['namespace']}/{mirror['metadata']['name']}"
    _, printed = said("explain", name, "--host-root", str(copy))
    assert "a static pod: move its file" in printed
    assert "kubectl delete" not in printed


def changed(tmp_path: Path, machine: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a machine whose list of pods is changed."""
    copy = copied(machine, tmp_path / "machine")
    pods = copy / "answers/pods.json"
    listed = json.loads(pods.read_text())
    change({each["metadata"]["name"]: each for each in listed["items"]})
    pods.write_text(json.dumps(listed))
    return copy


def test_what_cannot_be_read_of_the_pods_is_a_failure_and_never_left_out_in_silence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def change(pods: Any) -> None:
        pods["train-0"]["status"]["containerStatuses"][0]["containerID"] = "pouch://xyz"
        pods["report-7lz5k"]["metadata"]["uid"] = "odd"

    root = changed(tmp_path, TWO_SOCKET, change)
    assert main(["verify", "--host-root", str(root)]) == 1
    printed = capsys.readouterr()
    assert "ml/train-0                              trainer        unknown  unknown" in printed.out
    assert "1 asked for alignment, 0 of them have it, of 1 it isn't known" in printed.out
    assert "pod batch/report-7lz5k is left out" in printed.err
    assert "container trainer is left alone" in printed.err
    # Who asks for one pod hears of that one.
    web = "shop/web-5f7c9d8b6c-4tq2x"
    assert main(["verify", web, "--host-root", str(root)]) == 0
    for command in ("verify", "explain"):
        assert main([command, "batch/report-7lz5k", "--host-root", str(root)]) == 2
        assert "'odd' isn't a pod's uid" in capsys.readouterr().err


def test_a_pod_without_a_running_container_is_said_to_have_none(
    said: Callable[..., tuple[int, str]],
) -> None:
    status, printed = said("verify", "ml/evaluate-0", "--host-root", str(TWO_SOCKET))
    assert (status, printed) == (0, "no container of ml/evaluate-0 runs\n")


def test_one_with_fewer_cpus_than_decided_lacks_them_whatever_was_not_seen(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    copy = copied(CXL, tmp_path / "machine")
    stat = next(copy.glob("sys/fs/cgroup/**/memory.numa_stat"))
    stat.unlink()
    assert "postgres   unknown  unknown" in said("verify", "--host-root", str(copy))[1]
    (stat.parent / "cpuset.cpus.effective").write_text("8-9\n")
    assert "postgres   unknown  LACKS IT" in said("verify", "--host-root", str(copy))[1]


def test_a_damaged_account_is_told_in_a_story_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy = copied(CXL, tmp_path / "machine")
    next(copy.glob("sys/fs/cgroup/**/memory.numa_stat")).write_text("anon 7\n")
    assert main(["explain", "db/main-0", "--host-root", str(copy)]) == 1
    assert "where its memory is can't be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        ("Pending", "see why no container of it runs"),
        ("Failed", "Failed (Evicted)"),
        ("Succeeded", "to do      nothing"),
    ],
)
def test_what_keeps_a_placed_pod_from_running_is_not_the_scheduler(
    said: Callable[..., tuple[int, str]], tmp_path: Path, phase: str, says: str
) -> None:
    reasons = {"Failed": "Evicted"}

    def change(pods: Any) -> None:
        pods["evaluate-0"]["status"] |= {"phase": phase, "reason": reasons.get(phase)}

    root = changed(tmp_path, TWO_SOCKET, change)
    _, printed = said("explain", "ml/evaluate-0", "--host-root", str(root))
    assert says in printed
    assert "scheduler says" not in printed


def test_a_story_tells_of_claims_whole_pods_and_wishes_that_cannot_be_read(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    spec = "scheduling.koordinator.sh/numa-topology-spec"

    def change(pods: Any) -> None:
        pod = pods["train-0"]
        pod["metadata"]["annotations"][spec] = '{"numaTopologyPolicy": "SingleNumaNode"}'
        pod["spec"]["resources"] = {"requests": {"cpu": "26"}}
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "nics"}]

    root = changed(tmp_path, TWO_SOCKET, change)
    _, printed = said("explain", "ml/train-0", "--host-root", str(root))
    assert "container trainer: 24 CPUs, 256 GiB, 4 nvidia.com/gpu, claims nics" in printed
    assert "the pod as a whole: 26 CPUs" in printed
    assert "which can't be read, and so asks for nothing" in printed
    assert "did you mean 'SingleNUMANode'?" in printed
    assert "kubelet doesn't tell what it gave of claims (nics)" in printed
    assert "kubectl get pod -n ml train-0 -o yaml" in printed


def test_a_superchips_gpu_that_only_its_plugin_names_has_its_memory_beside_it(
    said: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    machine = TWO_SOCKET.parent / "grace-hopper-like"
    copy = copied(machine, tmp_path / "machine")
    (stat,) = copy.glob("sys/fs/cgroup/**/memory.numa_stat")
    stat.write_text(stat.read_text().replace("anon N0=12582912 N1=0", f"anon N0=0 N1={40 << 30}"))
    _, printed = said("verify", "--host-root", str(copy), "--nvml", "off")
    assert "server     aligned" in printed
    assert "40 GiB in 1  1 nvidia.com/gpu in 0" in printed
    # Where nobody tells that it holds the GPU, nobody can tell whose memory that is.
    held = copy / "answers/podresources.json"
    held.write_text(held.read_text().replace('"devices": [', '"others": [', 1))
    _, printed = said("verify", "--host-root", str(copy), "--nvml", "off")
    assert "server     unknown" in printed
