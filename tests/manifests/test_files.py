"""What every manifest must be, without a server: names, labels, images, narrowness."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import numa_agent
from numa_agent.config import load
from tests.manifests import programs
from tests.manifests.conftest import Build
from tests.manifests.objects import (
    ACCOUNT,
    COMPONENTS,
    MANIFESTS,
    NAMESPACE,
    OVERLAYS,
    PATHS,
    Json,
    containers,
    documents,
    named,
    scalars,
)
from tests.recorded import ROOT

FILES = sorted(
    path
    for path in MANIFESTS.rglob("*.yaml")
    if "helm" not in path.parts and path.parent.name != "crd"
)
CONFIGS = [path for path in FILES if path.name == "config.yaml"]
IMAGE = re.compile(r"numa-agent:(\d+\.\d+\.\d+)")
HOST_NAME = re.compile(r"\b[a-z0-9-]+\.[a-z0-9.-]+/[a-z0-9._-]+:[a-z0-9._-]+\b")
DIRECTORY = {"type": "Directory"}
HOST_PATHS = {
    "/sys/devices": ("/host/sys/devices", True),
    "/sys/bus": ("/host/sys/bus", True),
    "/sys/kernel/mm": ("/host/sys/kernel/mm", True),
    "/proc/cpuinfo": ("/host/proc/cpuinfo", True),
    "/proc/meminfo": ("/host/proc/meminfo", True),
    "/proc/sys/kernel/random/boot_id": ("/host/proc/sys/kernel/random/boot_id", True),
    "/proc": ("/host/proc", True),
    "/proc/driver/nvidia": ("/host/proc/driver/nvidia", True),
    "/var/lib/kubelet": ("/host/var/lib/kubelet", True),
    "/var/lib/kubelet/device-plugins": ("/host/var/lib/kubelet/device-plugins", False),
    "/sys/fs/cgroup": ("/host/sys/fs/cgroup", False),
    "/run/numa-agent": ("/host/run/numa-agent", False),
}
"""Every path of the machine that a pod may have, where it is in there, and whether read-only."""
HIDDEN = ("pods", "pki", "plugins", "plugins_registry", "device-plugins", "checkpoints")


@pytest.fixture(params=OVERLAYS)
def objects(request: pytest.FixtureRequest, built: Build) -> list[Json]:
    return built(f"overlays/{request.param}")


@pytest.fixture
def daemon_sets(objects: list[Json]) -> list[Json]:
    return [each for each in objects if each["kind"] == "DaemonSet"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_a_file_is_yaml_and_no_key_is_there_twice(path: Path) -> None:
    assert documents(path)
    for node in yaml.compose_all(path.read_text(encoding="utf-8")):
        for keys in _keys(node):
            assert len(keys) == len(set(keys)), keys


def _keys(node: Any) -> Iterator[list[str]]:
    """The keys of every mapping, as they are written: a loader takes the last of two."""
    if isinstance(node, yaml.MappingNode):
        yield [key.value for key, _ in node.value]
        for _, value in node.value:
            yield from _keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _keys(value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_a_file_belongs_to_a_kustomization_and_names_no_registry(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not HOST_NAME.search(text)
    assert "latest" not in text
    if path.name != "kustomization.yaml":
        (kustomization,) = documents(path.parent / "kustomization.yaml")
        assert path.name in list(scalars(kustomization))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.parent.name)
def test_a_profile_is_a_configuration_of_the_live_machine(path: Path) -> None:
    config = load(str(path), {}, {"NODE_NAME": "n"})
    assert config.live
    assert str(config.host_root) == "/host"
    profile = path.parent.name
    expected = profile if profile in {"koordinator", "ack"} else "kube-scheduler"
    assert config.scheduler == expected
    assert config.lock_path == Path("/host/run/numa-agent/lock")
    assert config.metrics_address == ("0.0.0.0", 9316)


def test_the_root_is_the_profile_for_kube_scheduler(built: Build) -> None:
    assert built(".") == built("overlays/kube-scheduler")


def test_every_object_is_named_and_labelled_as_ours(objects: list[Json]) -> None:
    for each in objects:
        metadata = each["metadata"]
        assert metadata["name"] == "numa-agent" or metadata["name"].startswith("numa-agent-")
        assert metadata["labels"]["app.kubernetes.io/name"] == "numa-agent"
        namespaced = "{}" in PATHS[each["kind"]]
        assert metadata.get("namespace") == (NAMESPACE if namespaced else None), each["kind"]


def test_names_that_lead_to_an_object_lead_to_one(objects: list[Json]) -> None:
    known = {(each["kind"], each["metadata"]["name"]) for each in objects}
    for each in objects:
        if each["kind"].endswith("RoleBinding"):
            assert (each["roleRef"]["kind"], each["roleRef"]["name"]) in known
            for subject in each["subjects"]:
                if subject["kind"] == "ServiceAccount":
                    assert subject["namespace"] == NAMESPACE
                    assert ("ServiceAccount", subject["name"]) in known
        if each["kind"] == "ValidatingAdmissionPolicyBinding":
            assert ("ValidatingAdmissionPolicy", each["spec"]["policyName"]) in known
        if each["kind"] == "DaemonSet":
            spec = each["spec"]["template"]["spec"]
            assert ("ServiceAccount", spec["serviceAccountName"]) in known
            maps = [v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v]
            assert all(("ConfigMap", name) in known for name in maps)


def test_a_daemon_set_selects_its_own_pods_and_no_others(daemon_sets: list[Json]) -> None:
    selectors = [each["spec"]["selector"]["matchLabels"] for each in daemon_sets]
    for each, selector in zip(daemon_sets, selectors, strict=True):
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert selector.items() <= labels.items()
        assert [other.items() <= labels.items() for other in selectors].count(True) == 1


def test_a_policy_is_about_the_agents_own_account(objects: list[Json]) -> None:
    policy = named(objects, "ValidatingAdmissionPolicy", "numa-agent-own-node")
    (condition,) = policy["spec"]["matchConditions"]
    assert f"'{ACCOUNT}'" in condition["expression"]


def test_what_a_policy_denies_is_forbidden(objects: list[Json]) -> None:
    """Without a reason it is a 422: the object's fault, which isn't tried again for long."""
    policies = [each for each in objects if each["kind"] == "ValidatingAdmissionPolicy"]
    assert policies
    for policy in policies:
        for validation in policy["spec"]["validations"]:
            assert validation["reason"] == "Forbidden"


def test_the_image_is_of_this_version(daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        for container in containers(each):
            match = IMAGE.fullmatch(container["image"])
            assert match is not None
            assert match[1] == numa_agent.__version__


def test_a_pod_has_no_privilege(daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        spec = each["spec"]["template"]["spec"]
        assert not {"hostNetwork", "hostIPC", "initContainers"} & spec.keys()
        assert spec["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "runAsUser": 0,
            "runAsGroup": 0,
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_only_the_overlay_that_is_named_so_shows_the_nodes_processes(built: Build) -> None:
    for overlay in OVERLAYS:
        for each in built(f"overlays/{overlay}"):
            if each["kind"] == "DaemonSet":
                spec = each["spec"]["template"]["spec"]
                assert spec.get("hostPID", False) is (overlay == "host-pid")
                paths = {v["hostPath"]["path"] for v in spec["volumes"] if "hostPath" in v}
                assert ("/proc" in paths) is (overlay == "host-pid")


def test_a_pod_has_the_paths_that_it_needs_and_writes_two(daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        (container,) = containers(each)
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        assert len(mounts) == len(container["volumeMounts"])
        volumes = each["spec"]["template"]["spec"]["volumes"]
        assert {mount["name"] for mount in mounts.values()} == {v["name"] for v in volumes}
        for volume in volumes:
            if "hostPath" in volume:
                place, read_only = HOST_PATHS[volume["hostPath"]["path"]]
                mount = mounts[place]
                assert mount["name"] == volume["name"]
                assert mount.get("readOnly", False) is read_only
                assert "mountPropagation" not in mount
                assert volume["hostPath"]["type"] in {"Directory", "File", "DirectoryOrCreate"}


def test_what_kubelet_keeps_for_others_is_hidden(daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        (container,) = containers(each)
        mounts = container["volumeMounts"]
        hidden = [mount["mountPath"] for mount in mounts if mount["name"] == "nothing"]
        shown = [mount["mountPath"] for mount in mounts if mount["name"] == "device-plugins"]
        assert sorted([*hidden, *shown]) == sorted(f"/host/var/lib/kubelet/{n}" for n in HIDDEN)
        assert all(mount["readOnly"] for mount in mounts if mount["name"] == "nothing")


def test_only_the_overlay_that_is_named_so_offers_cards(built: Build) -> None:
    for overlay in OVERLAYS:
        objects = built(f"overlays/{overlay}")
        config = yaml.safe_load(named(objects, "ConfigMap", "numa-agent")["data"]["config.yaml"])
        assert config.get("gpuPlugin", False) is (overlay == "gpu-plugin")
        for each in objects:
            if each["kind"] == "DaemonSet":
                volumes = {v["name"] for v in each["spec"]["template"]["spec"]["volumes"]}
                assert ("device-plugins" in volumes) is (overlay == "gpu-plugin")


def test_probes_metrics_and_annotations_are_of_one_port(daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        template = each["spec"]["template"]
        (container,) = template["spec"]["containers"]
        (port,) = container["ports"]
        annotations: dict[str, Any] = template["metadata"]["annotations"]
        assert annotations["prometheus.io/port"] == str(port["containerPort"]) == "9316"
        schemes = {annotations["prometheus.io/scheme"].upper()}
        if "restore" in container["args"]:
            assert not [key for key in container if key.endswith("Probe")]
            continue
        for probe, path in (
            ("startupProbe", "/healthz"),
            ("livenessProbe", "/healthz"),
            ("readinessProbe", "/readyz"),
        ):
            asked = container[probe]["httpGet"]
            assert (asked["path"], asked["port"]) == (path, port["name"])
            schemes.add(asked.get("scheme", "HTTP"))
        assert len(schemes) == 1


def test_a_node_never_has_two_agents(objects: list[Json], daemon_sets: list[Json]) -> None:
    for each in daemon_sets:
        assert each["spec"]["updateStrategy"]["rollingUpdate"]["maxSurge"] == 0
    if len(daemon_sets) == 1:
        return
    plain = named(objects, "DaemonSet", "numa-agent")["spec"]["template"]["spec"]
    gpu = named(objects, "DaemonSet", "numa-agent-gpu")["spec"]["template"]["spec"]
    affinity = plain["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = affinity["nodeSelectorTerms"]
    (away,) = term["matchExpressions"]
    assert away["operator"] == "NotIn"
    assert {key: [value] for key, value in gpu["nodeSelector"].items()}[away["key"]] == (
        away["values"]
    )


def test_rights_are_few_and_without_stars(objects: list[Json]) -> None:
    for each in objects:
        if each["kind"] in {"Role", "ClusterRole"}:
            for rule in each["rules"]:
                assert "*" not in list(scalars(rule))
                assert not {"delete", "deletecollection", "update"} & set(rule["verbs"])


@pytest.mark.parametrize("scheduler", ["kube-scheduler", "koordinator", "ack"])
def test_an_admins_own_overlay_joins_a_scheduler_and_every_component(
    scheduler: str, kustomize: Path, tmp_path: Path
) -> None:
    below = Path(os.path.relpath(MANIFESTS, tmp_path))
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(below / "overlays" / scheduler)],
        "components": [str(below / "components" / name) for name in COMPONENTS],
        "images": [{"name": "numa-agent", "newName": "mirror/numa-agent", "newTag": "1.2.3"}],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    objects = list(yaml.safe_load_all(programs.run(kustomize, "build", str(tmp_path))))
    daemon_sets = [each for each in objects if each["kind"] == "DaemonSet"]
    assert len(daemon_sets) == 2
    for each in daemon_sets:
        (container,) = containers(each)
        assert container["image"] == "mirror/numa-agent:1.2.3"
        assert container["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert {"PodMonitor", "Role", "RoleBinding"} <= {each["kind"] for each in objects}


def test_the_version_is_said_in_one_place_of_the_manifests() -> None:
    spoken = [
        str(path.relative_to(ROOT))
        for path in FILES
        if numa_agent.__version__ in path.read_text(encoding="utf-8")
    ]
    assert spoken == ["manifests/base/daemonset/daemonset.yaml"]
