"""Our copy of the messages is the API's on the wire, and the generated code is that copy."""

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

import numa_agent
from numa_agent.host.podresources import api_pb2

ROOT = Path(numa_agent.__file__).parents[1]
PROTO = api_pb2.DESCRIPTOR.name

# The numbers that kubelet writes, by message; https://pkg.go.dev/k8s.io/kubelet/pkg/apis/podresources/v1
NUMBERS = {
    "ListPodResourcesRequest": {},
    "ListPodResourcesResponse": {"pod_resources": 1},
    "AllocatableResourcesRequest": {},
    "AllocatableResourcesResponse": {"devices": 1, "cpu_ids": 2, "memory": 3},
    "GetPodResourcesRequest": {"pod_name": 1, "pod_namespace": 2},
    "GetPodResourcesResponse": {"pod_resources": 1},
    "PodResources": {"name": 1, "namespace": 2, "containers": 3, "cpu_ids": 4, "memory": 5},
    "ContainerResources": {
        "name": 1,
        "devices": 2,
        "cpu_ids": 3,
        "memory": 4,
        "dynamic_resources": 5,
    },
    "ContainerDevices": {"resource_name": 1, "device_ids": 2, "topology": 3},
    "ContainerMemory": {"memory_type": 1, "size": 2, "topology": 3},
    "TopologyInfo": {"nodes": 1},
    "NUMANode": {"ID": 1},
    "DynamicResource": {"claim_name": 2, "claim_namespace": 3, "claim_resources": 4},
    "ClaimResource": {
        "cdi_devices": 1,
        "driver_name": 2,
        "pool_name": 3,
        "device_name": 4,
        "share_id": 5,
    },
    "CDIDevice": {"name": 1},
}


def messages() -> dict[str, Descriptor]:
    return dict(api_pb2.DESCRIPTOR.message_types_by_name)


def test_every_field_has_the_api_s_number() -> None:
    found = {
        name: {field.name: field.number for field in message.fields}
        for name, message in messages().items()
    }
    assert found == NUMBERS


def test_the_service_and_its_methods_have_the_api_s_names() -> None:
    service = api_pb2.DESCRIPTOR.services_by_name["PodResourcesLister"]
    assert service.full_name == "v1.PodResourcesLister"
    assert [method.name for method in service.methods] == [
        "List",
        "GetAllocatableResources",
        "Get",
    ]


def test_the_file_s_name_is_nobody_else_s_in_this_process() -> None:
    assert PROTO == "numa_agent/host/podresources/api.proto"


def test_the_generated_code_is_that_of_the_proto_file(tmp_path: Path) -> None:
    target = tmp_path / "set"
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", "--proto_path=."),
            *(f"--descriptor_set_out={target}", PROTO),
        ],
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    (compiled,) = FileDescriptorSet.FromString(target.read_bytes()).file
    for message in compiled.message_type:
        forget_json_names(message)
    assert compiled.SerializeToString() == api_pb2.DESCRIPTOR.serialized_pb


def forget_json_names(message: DescriptorProto) -> None:
    """Take out what the compiler adds for its plugins only."""
    for field in message.field:
        field.ClearField("json_name")


# What kubelet may send, byte by byte: key = field number << 3 | kind (0 number, 2 length).
NODE_0 = b"\x0a\x00"
NODE_1 = b"\x0a\x02\x08\x01"


@pytest.mark.parametrize(
    ("nodes", "ids"), [(b"", []), (NODE_0, [0]), (NODE_1, [1]), (NODE_0 + NODE_1, [0, 1])]
)
def test_node_0_is_an_empty_message_and_no_node_is_none(nodes: bytes, ids: list[int]) -> None:
    assert [node.ID for node in api_pb2.TopologyInfo.FromString(nodes).nodes] == ids


def test_numbers_come_packed_or_one_by_one() -> None:
    packed, single = b"\x1a\x02\x03\x02", b"\x18\x03\x18\x02"
    for content in (packed, single):
        assert list(api_pb2.ContainerResources.FromString(content).cpu_ids) == [3, 2]


def test_a_field_of_a_newer_kubelet_is_skipped() -> None:
    content = b"\x0a\x01c" + b"\xba\x3e\x03new"
    assert api_pb2.ContainerResources.FromString(content).name == "c"
