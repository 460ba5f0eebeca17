"""Every mistake in a description is answered with the file, the key and what is wrong."""

from typing import Any

import pytest
import yaml

from tools.machines.build import build
from tools.machines.reading import parse_machine
from tools.machines.section import SpecError


def description() -> dict[str, Any]:
    return {
        "about": "A machine to be spoilt.",
        "cpus": {"packages": 1, "cores": 4},
        "nodes": [{"id": 0, "cpus": "0-3", "memory": "1Gi"}],
        "pci": [{"roots": ["0000:00"], "node": 0, "devices": [{"port": ["h100"]}]}],
        "pods": [
            {
                "name": "a/b",
                "qos": "Guaranteed",
                "containers": [{"name": "c", "cpu": 1, "memory": "1Mi"}],
            }
        ],
    }


def refusal(data: object) -> str:
    with pytest.raises(SpecError) as caught:
        build(parse_machine("x", yaml.safe_dump(data)))
    return str(caught.value)


def test_the_description_to_be_spoilt_is_a_machine() -> None:
    assert build(parse_machine("x", yaml.safe_dump(description())))


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (["about"], None, "x.yaml: about: missing"),
        (["colour"], "red", "x.yaml: colour: unknown key"),
        (["arch"], "vax", "x.yaml: arch: 'vax' is none of x86_64"),
        (["cpus"], 4, "x.yaml: cpus: expected a mapping, found 4"),
        (["cpus", "cores"], "many", "x.yaml: cpus: cores: expected a whole number"),
        (["cpus", "offline"], "3-1", "x.yaml: cpus: offline: reversed range"),
        (["cpus", "isolated"], "4", "x.yaml: cpus: isolated: no such CPU: 4"),
        (["cpus", "possible"], "0-2", "x.yaml: cpus: possible: leaves out 3"),
        (["cpus", "package_ids"], [0, 8], "x.yaml: cpus: package_ids: expected 1 ids"),
        (["cpus", "l3"], {"cores": 3, "size": "1Mi"}, "x.yaml: cpus: l3: 4 cores don't divide"),
        (["nodes"], [], "x.yaml: nodes: their CPUs have to be 0-3, each once"),
        (["nodes", 0, "id"], -1, "x.yaml: nodes[0]: id: not a CPU list"),
        (["nodes", 0, "memory"], "1 GB", "x.yaml: nodes[0]: memory: expected a size"),
        (["nodes", 0, "near"], 7, "x.yaml: nodes: no node 7"),
        (["nodes", 0, "hugepages"], {"2M": 1}, "x.yaml: nodes[0]: hugepages: expected a whole"),
        (["nodes", 0, "generic_initiator"], 1, "generic_initiator: expected true or false"),
        (["distances"], [[10, 20]], "x.yaml: distances: expected one number, or 1 rows of 1"),
        (["distances"], {"within": {}}, "x.yaml: distances: otherwise: missing"),
        (["distances"], {"otherwise": 20, "within": {"1-0": 12}}, "within: reversed range"),
        (["distances"], {"otherwise": 20, "within": {"0": "far"}}, "within: expected a whole"),
        (["pci", 0, "node"], 2, "x.yaml: pci[0]: node: no node 2"),
        (["pci", 0, "roots"], [18], 'x.yaml: pci[0]: roots: expected texts such as "0000:18"'),
        (["pci", 0, "roots"], ["0:0", "0:0"], "x.yaml: pci: two devices get the address"),
        (["pci", 0, "devices"], ["h10"], "x.yaml: pci[0]: devices: 'h10' is none of h100"),
        (["pci", 0, "devices"], [{"hub": []}], "devices: 'hub' is none of port, switch, aspeed"),
        (["pci", 0, "devices"], [{"port": "h100"}], "devices: port: expected a list"),
        (["pci", 0, "devices"], [{"h100": {"speed": 5}}], "pci[0]: h100: speed: unknown key"),
        (["pci", 0, "devices"], [{"h100": {"vfs": 2}}], "pci[0]: h100: vfs: no virtual function"),
        (["pci", 0, "devices"], [{"h100": {"numa_node": 5}}], "pci: 0000:00:01.0: no node 5"),
        (["nvidia"], {"lost": [3]}, "x.yaml: there is no GPU 3, only 1"),
        (["nvidia"], {"nvlink": [[0, 1]]}, "x.yaml: nvidia: nvlink: expected switch or"),
        (["nvidia"], {"nvlink": [[0, 1, 2]]}, "x.yaml: there is no GPU 1, only 1"),
        (["nvidia"], {"mig": {0: ["big"]}}, "x.yaml: nvidia: mig: expected a profile"),
        (["nvidia"], {"lacks": ["wit"]}, "x.yaml: nvidia: no answer is named 'wit'"),
        (["nvidia"], {"memory_nodes": {0: 5}}, "x.yaml: nvidia: no node 5"),
        (["cgroup"], {"version": 3}, "x.yaml: cgroup: version: expected 1 or 2"),
        (["kubelet"], {"cpu_manager": "some"}, "x.yaml: kubelet: cpu_manager: 'some' is none"),
        (["kubelet"], {"reserved_cpus": "9"}, "x.yaml: kubelet: reserved_cpus: not all of them"),
        (["pods", 0, "name"], "b", "x.yaml: pods[0]: name: expected namespace/name"),
        (["pods", 0, "qos"], "BestEffort", "containers[0]: cpu: doesn't make a BestEffort pod"),
        (["pods", 0, "containers"], [], "x.yaml: pods[0]: containers: a pod has at least one"),
        (["pods", 0, "containers", 0, "exclusive"], "8", "exclusive: not online: 8"),
        (["pods", 0, "containers", 0, "gpus"], [1], "x.yaml: there is no GPU 1, only 1"),
        (["pods", 0, "containers", 0, "mig"], [0], "mig: expected [[GPU, instance]], found 0"),
        (["pods", 0, "containers", 0, "mig"], [[0, 1]], "c: no device plugin offers (0, 1)"),
        (["pods", 0, "containers", 0, "devices"], ["0000:00:01.0"], "offers 0000:00:01.0"),
        (["pods", 0, "containers", 0, "gpus"], ["a"], "gpus: expected whole numbers, found 'a'"),
    ],
)
def test_a_mistake_is_named_by_file_and_key(
    where: list[str | int], value: object, message: str
) -> None:
    data = description()
    place: Any = data
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    assert message in refusal(data)


def test_a_text_that_is_no_yaml_is_refused_with_its_name() -> None:
    with pytest.raises(SpecError, match=r"^x\.yaml: not YAML"):
        parse_machine("x", "{")
