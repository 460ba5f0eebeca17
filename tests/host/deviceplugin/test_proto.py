"""Our copy of the messages is the API's on the wire, and the generated code is that copy."""

import subprocess
import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

from numa_agent.host.deviceplugin import api_pb2
from numa_agent.host.podresources import api_pb2 as podresources
from tests.recorded import ROOT

PROTO = api_pb2.DESCRIPTOR.name

# The numbers that kubelet writes; https://pkg.go.dev/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1
NUMBERS = {
    "Empty": {},
    "DevicePluginOptions": {"pre_start_required": 1, "get_preferred_allocation_available": 2},
    "RegisterRequest": {"version": 1, "endpoint": 2, "resource_name": 3, "options": 4},
    "ListAndWatchResponse": {"devices": 1},
    "Device": {"ID": 1, "health": 2, "topology": 3},
    "TopologyInfo": {"nodes": 1},
    "NUMANode": {"ID": 1},
    "PreferredAllocationRequest": {"container_requests": 1},
    "ContainerPreferredAllocationRequest": {
        "available_deviceIDs": 1,
        "must_include_deviceIDs": 2,
        "allocation_size": 3,
    },
    "PreferredAllocationResponse": {"container_responses": 1},
    "ContainerPreferredAllocationResponse": {"deviceIDs": 1},
    "AllocateRequest": {"container_requests": 1},
    "ContainerAllocateRequest": {"devices_ids": 1},
    "AllocateResponse": {"container_responses": 1},
    "ContainerAllocateResponse": {"envs": 1, "devices": 3, "annotations": 4, "cdi_devices": 5},
    "DeviceSpec": {"container_path": 1, "host_path": 2, "permissions": 3},
    "CDIDevice": {"name": 1},
    "PreStartContainerRequest": {"devices_ids": 1},
    "PreStartContainerResponse": {},
}

METHODS = {
    "v1beta1.Registration": ["Register"],
    "v1beta1.DevicePlugin": [
        "GetDevicePluginOptions",
        "ListAndWatch",
        "GetPreferredAllocation",
        "Allocate",
        "PreStartContainer",
    ],
}


def test_every_field_has_the_api_s_number() -> None:
    found = {
        name: {field.name: field.number for field in message.fields}
        for name, message in api_pb2.DESCRIPTOR.message_types_by_name.items()
    }
    assert found == NUMBERS


def test_the_services_and_their_methods_have_the_api_s_names() -> None:
    found = {
        service.full_name: [method.name for method in service.methods]
        for service in api_pb2.DESCRIPTOR.services_by_name.values()
    }
    assert found == METHODS


def test_both_apis_of_kubelet_are_in_one_process() -> None:
    assert PROTO == "numa_agent/host/deviceplugin/api.proto"
    assert podresources.DESCRIPTOR.package != api_pb2.DESCRIPTOR.package


def test_the_generated_code_is_that_of_the_proto_file(tmp_path: Path) -> None:
    target = tmp_path / "set"
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", "--proto_path=."),
            *(f"--descriptor_set_out={target}", PROTO),
        ],
        cwd=ROOT,
        check=True,
    )
    (written,) = FileDescriptorSet.FromString(target.read_bytes()).file
    generated = DescriptorProto()
    for message in written.message_type:
        api_pb2.DESCRIPTOR.message_types_by_name[message.name].CopyToProto(generated)
        maps = (*message.nested_type, *generated.nested_type)
        for each in (message, generated, *maps):
            for field in each.field:
                field.ClearField("json_name")
        assert message == generated
        generated.Clear()
    assert len(written.message_type) == len(NUMBERS)


def test_a_node_0_is_told_as_an_empty_message() -> None:
    node = api_pb2.TopologyInfo(nodes=[api_pb2.NUMANode(ID=0)])
    assert node.SerializeToString() == b"\x0a\x00"
    assert len(api_pb2.TopologyInfo.FromString(b"\x0a\x00").nodes) == 1
