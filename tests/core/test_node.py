"""The Node as a value."""

import pytest

from numa_agent.core.node import parse_node


def test_a_node_has_its_name_owner_boot_and_amounts() -> None:
    node = parse_node(
        {
            "metadata": {
                "name": "n1",
                "uid": "u1",
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
            },
            "status": {
                "nodeInfo": {"bootID": "b1"},
                "capacity": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "8"},
                "allocatable": {"cpu": "7500m", "memory": "bad"},
            },
        }
    )
    assert (node.name, node.uid, node.boot_id) == ("n1", "u1", "b1")
    assert (node.labels, node.annotations) == ({"a": "b"}, {"c": "d"})
    assert node.capacity == {"cpu": 8000, "memory": 16 << 30, "nvidia.com/gpu": 8}
    assert node.allocatable == {"cpu": 7500}


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": {"name": ""}}])
def test_a_node_without_a_name_is_none(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"metadata\.name"):
        parse_node(document)
