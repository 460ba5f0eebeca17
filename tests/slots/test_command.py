"""`numa-agent slots` on recorded machines, and what is scraped."""

import json
from pathlib import Path

import pytest

from numa_agent.cli import main
from numa_agent.core.shape import Shape
from numa_agent.core.slots import MOST_SHAPES, NodeSlots, ShapeSlots, SlotsNow
from numa_agent.serve.metrics.slots import slots
from tests.assigner.scene import SPEC
from tests.recorded import MACHINES, copied, machine


def test_a_machine_s_slots_are_shown_by_node_and_in_sum(
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = str(machine("gb200-like"))
    assert main(["slots", "--host-root", root, "--shape", "6c2g", "--shape", "8c64Gi"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "SHAPE   NODE 0  NODE 1  SLOTS  LOST  NEXT ONE LACKS",
        "6c2g    1       0       1      0%    GPUs",
        "8c64Gi  7       7       14     0%    memory",
        "",
        "shapes: as named; a GPU is one nvidia.com/gpu",
    ]


@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_every_machine_has_an_answer_for_programs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    main(["slots", "--host-root", str(folder), "-o", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["format"] == "numa-agent.slots/v1"
    assert answer["shapes"]
    for shape in answer["shapes"]:
        assert shape["slots"] == sum(node["slots"] for node in shape["numa_nodes"])
        assert shape["slots"] <= shape["slots_if_on_one_node"]
        assert shape["fragmentation"] is None or 0 <= shape["fragmentation"] <= 1
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_whoever_keeps_off_nobody_has_more_slots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    path = root / "answers/pods.json"
    pods = json.loads(path.read_text())
    # The one with CPUs on node 1 may span nodes, it says.
    pods["items"][0]["metadata"]["annotations"][SPEC] = '{"numaTopologyPolicy": "BestEffort"}'
    path.write_text(json.dumps(pods))
    words = ["slots", "--host-root", str(root), "--shape", "8c", "-o", "json"]
    found = []
    for policy in ("Required", "Preferred"):
        main([*words, "--exclusive", policy])
        found.append(json.loads(capsys.readouterr().out)["shapes"][0]["numa_nodes"])
    assert found[0][1] == {"numa_node": 1, "slots": 0, "short_of": "in-use"}
    assert found[1][1]["slots"] > 0
    assert found[0][0] == found[1][0]


def test_configured_shapes_are_counted_unless_others_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("shapes: [16c2g, 3c]\n")
    words = ["slots", "--host-root", str(machine("gb200-like")), "--config", str(file)]
    assert main([*words, "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [each["shape"] for each in answer["shapes"]] == ["16c2g", "3c"]
    assert main([*words, "-o", "json", "--shape", "1g"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [each["shape"] for each in answer["shapes"]] == ["1g"]


def test_a_word_that_is_no_shape_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["slots", "--shape", "24x"])
    assert ended.value.code == 2
    assert "'24x' is no shape: write whole CPUs" in capsys.readouterr().err
    many = [word for number in range(1, 10) for word in ("--shape", f"{number}c")]
    assert main(["slots", "--host-root", str(machine("gb200-like")), *many]) == 2
    assert f"at most {MOST_SHAPES} shapes" in capsys.readouterr().err


def test_gpus_whose_place_is_unknown_aren_t_free(capsys: pytest.CaptureFixture[str]) -> None:
    root = str(machine("vm-unknown-locality"))
    main(["slots", "--host-root", root, "--shape", "1c1g"])
    said = capsys.readouterr().out
    assert "1c1g   0       0       0      never fits" in said
    assert "note: the NUMA nodes of all nvidia.com/gpu aren't known: no GPU counts as free" in said


def test_without_pods_there_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("gb200-like"), root)
    (root / "answers" / "pods.json").write_text("{")
    assert main(["slots", "--host-root", str(root)]) == 2
    assert "the pods or kubelet's CPUs aren't known: " in capsys.readouterr().err


def test_without_podresources_cpus_are_counted_and_gpus_aren_t(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "machine"
    copied(machine("gb200-like"), root)
    (root / "answers" / "podresources.json").write_text("{")
    assert main(["slots", "--host-root", str(root), "--shape", "1c1g", "--shape", "8c"]) == 1
    said = capsys.readouterr()
    assert "note: kubelet is offered no GPUs" in said.out
    assert "podresources.json" in said.err
    assert "8c     " in said.out


def of(number: int, slots_of: int, *, ever: bool = True) -> ShapeSlots:
    node = NodeSlots(node_id=7, slots=slots_of, short="cpus", ever=ever)
    return ShapeSlots(shape=Shape(cpus=number), nodes=(node,), together=4)


def test_slots_and_fragmentation_are_scraped_by_shape_and_node_and_bounded() -> None:
    now = SlotsNow(shapes=(of(8, 1), of(9, 0, ever=False), *(of(n, 4) for n in range(20, 40))))
    counts, shares = slots(now)
    found = [(each.labels, each.value) for each in counts.samples]
    assert found[0] == ({"shape": "8c", "numa_node": "7"}, 1)
    assert len(found) == MOST_SHAPES
    lost = {each.labels["shape"]: each.value for each in shares.samples}
    assert lost["8c"] == 0.75
    assert "9c" not in lost
    assert [list(each.samples) for each in slots(SlotsNow())] == [[], []]
