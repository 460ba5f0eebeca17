"""Every language's objects of every recorded machine, on a real API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numa_agent.cli import main
from numa_agent.cluster.api import Cluster
from numa_agent.config import SCHEDULERS, Config
from numa_agent.core.documents import mapping
from numa_agent.core.publishing import Outcome, publish
from numa_agent.core.view import Json
from numa_agent.wiring.language import language
from numa_agent.wiring.renders import render_once
from tests.apiserver.control_plane import ControlPlane
from tests.recorded import MACHINES, machine

pytestmark = pytest.mark.apiserver

TOPOLOGIES = "/apis/topology.node.k8s.io/{version}/noderesourcetopologies/{name}"
KINDS = {
    "kube-scheduler": ["NodeResourceTopology"],
    "koordinator": ["NodeResourceTopology", "Device"],
    "ack": ["NodeResourceTopology"],
}


def configured(folder: Path, scheduler: str, kubeconfig: Path | None = None) -> Config:
    return Config(
        host_root=folder,
        live_root=Path("/"),
        node_name=None,
        kubeconfig=kubeconfig,
        scheduler=scheduler,
    )


def named(manifest: Json, name: str) -> Json:
    return {**manifest, "metadata": {**mapping(manifest["metadata"]), "name": name}}


def objects(folder: Path, scheduler: str) -> Iterator[Json]:
    """A machine's objects, under a name that no other test of this server uses."""
    for manifest in render_once(configured(folder, scheduler)).rendering.manifests:
        yield named(manifest, f"{folder.name}-{scheduler}")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("folder", MACHINES, ids=lambda path: path.name)
def test_the_server_takes_them_as_they_are_and_a_second_time_writes_nothing(
    folder: Path, scheduler: str, cluster: Cluster, control_plane: ControlPlane
) -> None:
    spoken = language(scheduler)
    kinds = []
    for manifest in objects(folder, scheduler):
        kinds.append(manifest["kind"])
        outcomes = [
            publish(cluster, manifest, adopt=spoken.adopt, companions=spoken.companions).outcome
            for _ in range(2)
        ]
        assert outcomes == [Outcome.CREATED, Outcome.UNCHANGED]
        stored = cluster.read(manifest)
        assert stored is not None
        assert {key: stored[key] for key in manifest if key != "metadata"} == {
            key: value for key, value in manifest.items() if key != "metadata"
        }
    assert kinds == KINDS[scheduler][: len(kinds)]
    assert kinds


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_an_older_reader_finds_the_same_zones_and_may_write_the_object(
    scheduler: str, cluster: Cluster, control_plane: ControlPlane
) -> None:
    manifest = next(objects(machine("sparse-offline"), scheduler))
    manifest = named(manifest, f"older-{scheduler}")
    publish(cluster, manifest)
    name = f"older-{scheduler}"
    path = TOPOLOGIES.format(version="v1alpha1", name=name)
    older: Any = control_plane.ask("GET", path)
    assert older["zones"] == manifest["zones"]
    assert older["topologyPolicies"] == manifest["topologyPolicies"]
    older["metadata"]["labels"] = {"seen": "yes"}
    assert control_plane.ask("PUT", path, older)["metadata"]["labels"] == {"seen": "yes"}


def test_a_change_of_language_leaves_one_object_that_both_readers_take(
    cluster: Cluster, control_plane: ControlPlane
) -> None:
    for scheduler in ("kube-scheduler", "koordinator", "kube-scheduler"):
        spoken = language(scheduler)
        rendering = render_once(configured(machine("two-socket-8gpu"), scheduler)).rendering
        manifest = named(rendering.manifests[0], "turncoat")
        found = publish(cluster, manifest, adopt=spoken.adopt, companions=spoken.companions)
        assert found.outcome in {Outcome.CREATED, Outcome.CHANGED}
    path = TOPOLOGIES.format(version="v1alpha2", name="turncoat")
    stored: Any = control_plane.ask("GET", path)
    assert not any("koordinator" in key for key in stored["metadata"].get("annotations", {}))
    assert stored["zones"] == manifest["zones"]


def test_render_shows_how_the_clusters_object_differs(
    control_plane: ControlPlane, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine("single-node")
    words = [
        *("render", "--host-root", str(folder), "--diff"),
        *("--kubeconfig", str(control_plane.kubeconfig)),
    ]
    assert main(words) == 1
    missing = capsys.readouterr().out
    assert "--- NodeResourceTopology/single-node (in the cluster)" in missing
    assert "+zones:" in missing

    (manifest,) = render_once(configured(folder, "kube-scheduler")).rendering.manifests
    publish(cluster, manifest)
    assert main(words) == 0
    assert capsys.readouterr().out == ""

    path = TOPOLOGIES.format(version="v1alpha2", name="single-node")
    stored: Any = control_plane.ask("GET", path)
    stored["zones"][0]["resources"][0]["available"] = "1"
    stored["metadata"]["labels"] = {"foreign": "label"}
    control_plane.ask("PUT", f"{path}?fieldManager=somebody", stored)
    assert main(words) == 1
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("-  ")] == ["-    available: '1'"]
    assert [line for line in printed if line.startswith("+  ")] == ["+    available: '6'"]


def test_render_says_what_a_pass_would_leave_alone_or_take_away(
    control_plane: ControlPlane, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = machine("cxl-expander")
    words = [
        *("render", "--host-root", str(folder), "--diff"),
        *("--kubeconfig", str(control_plane.kubeconfig)),
    ]
    (manifest,) = render_once(configured(folder, "kube-scheduler")).rendering.manifests
    metadata = {**mapping(manifest["metadata"]), "labels": {"once": "ours"}}
    publish(cluster, {**manifest, "metadata": metadata})
    assert main(words) == 1
    assert "fields that are ours no more: metadata.labels" in capsys.readouterr().out
    publish(cluster, manifest)
    path = TOPOLOGIES.format(version="v1alpha2", name="cxl-expander")
    stored: Any = control_plane.ask("GET", path)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "0-0"}
    stored["metadata"]["ownerReferences"].append(other)
    control_plane.ask("PUT", path, stored)
    assert main(words) == 0
    stored = control_plane.ask("GET", path)
    stored["zones"][0]["resources"][0]["available"] = "1"
    control_plane.ask("PUT", f"{path}?fieldManager=koordlet", stored)
    assert main(words) == 1
    assert "would be left alone: koordlet (Update) owns zones" in capsys.readouterr().err
