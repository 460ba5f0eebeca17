"""Pods from what people write, and what is said where it isn't pods."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.config import ConfigError
from numa_agent.core.pods import QosClass
from numa_agent.core.simulating import ManifestError, pods_of
from numa_agent.core.simulating.manifests import MOST_PODS
from numa_agent.wiring.manifests import read_documents
from tests.machine_tree import pod

Document = dict[str, Any]


def manifest(name: str | None = "a", **members: Any) -> Document:
    """A Pod of one container."""
    found: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]},
    }
    return found | members


def spec(*resources: object, **more: object) -> Document:
    containers = [{"name": f"c{n}", "resources": each} for n, each in enumerate(resources)]
    return {"containers": containers, **more}


def read(*documents: object) -> list[str]:
    numbered = [(f"f: document {number}", each) for number, each in enumerate(documents, 1)]
    return [pod.full_name for pod in pods_of(numbered)]


def test_pods_come_in_order_and_nothing_between_two_marks_is_nothing() -> None:
    other = manifest(metadata={"name": "b", "namespace": "ml"})
    assert read(manifest(), None, other, manifest("c")) == ["default/a", "ml/b", "default/c"]


@pytest.mark.parametrize(
    ("kind", "member", "number", "names"),
    [
        ("Deployment", "replicas", 2, ["web-0", "web-1"]),
        ("Deployment", "replicas", 0, []),
        ("Deployment", None, None, ["web-0"]),
        ("ReplicaSet", "replicas", 1, ["web-0"]),
        ("ReplicationController", "replicas", 1, ["web-0"]),
        ("StatefulSet", "replicas", 3, ["web-0", "web-1", "web-2"]),
        ("Job", "parallelism", 2, ["web-0", "web-1"]),
        ("Job", "parallelism", None, ["web-0"]),
        ("StatefulSet", "replicas", None, ["web-0"]),
        ("DaemonSet", "replicas", 7, ["web-0"]),
    ],
)
def test_what_makes_pods_makes_its_replicas(
    kind: str, member: str | None, number: int | None, names: list[str]
) -> None:
    # What is null isn't given.
    own = {} if member is None else {member: number}
    template = {"metadata": {"annotations": {"cpuset-scheduler": "true"}}, "spec": spec({})}
    document = {
        "kind": kind,
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {**own, "template": template},
    }
    found = pods_of([("f", document)])
    assert [pod.name for pod in found] == names
    assert all(pod.namespace == "ns" for pod in found)
    assert all(pod.annotations == {"cpuset-scheduler": "true"} for pod in found)
    assert len({pod.uid for pod in found}) == len(names)


def test_a_cron_job_makes_its_job_s_pods() -> None:
    template = {"spec": spec({})}
    job = {"parallelism": 2, "template": template}
    document = {
        "kind": "CronJob",
        "metadata": {"name": "night", "namespace": "ns"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job}},
    }
    assert read(document) == ["ns/night-0", "ns/night-1"]
    with pytest.raises(ManifestError, match=r"it has no spec\.jobTemplate$"):
        read({**document, "spec": {}})
    with pytest.raises(ManifestError, match=r"it has no spec\.jobTemplate\.spec\.template$"):
        read({**document, "spec": {"jobTemplate": {"spec": {}}}})


@pytest.mark.parametrize(("completions", "pods"), [(2, 2), (9, 5), (None, 5)])
def test_no_more_pods_of_a_job_run_at_once_than_are_to_end_well(
    completions: int | None, pods: int
) -> None:
    own = {"parallelism": 5, "completions": completions, "template": {"spec": spec({})}}
    assert len(read({"kind": "Job", "metadata": {"name": "a"}, "spec": own})) == pods


def test_lists_of_kubectl_and_of_the_api_are_read() -> None:
    unnamed = {key: value for key, value in manifest("b").items() if key != "kind"}
    assert read({"kind": "List", "items": [manifest(), manifest("c")]}) == [
        "default/a",
        "default/c",
    ]
    assert read({"kind": "PodList", "items": [unnamed]}) == ["default/b"]
    assert read({"kind": "List", "items": []}) == []


def test_a_name_may_be_left_to_the_server() -> None:
    one = manifest(metadata={"generateName": "job-"})
    assert read(one, one) == ["default/job-0", "default/job-1"]


FULL = {"limits": {"cpu": 2, "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("written", "qos"),
    [
        (spec(FULL), "Guaranteed"),
        (spec(FULL, FULL), "Guaranteed"),
        (spec({**FULL, "requests": {"cpu": "2000m", "memory": "1024Mi"}}), "Guaranteed"),
        (spec({**FULL, "requests": {"cpu": 1}}), "Burstable"),
        (spec(FULL, {}), "Burstable"),
        (spec(FULL, initContainers=[{"name": "i"}]), "Burstable"),
        (spec(FULL, initContainers=[{"name": "i", "resources": FULL}]), "Guaranteed"),
        (spec({"limits": {"cpu": 2}}), "Burstable"),
        (spec({"limits": {"cpu": 0, "memory": 0}}), "BestEffort"),
        (spec({"limits": {"nvidia.com/gpu": 1}}), "BestEffort"),
        (spec({}), "BestEffort"),
        (spec({}, resources=FULL), "Guaranteed"),
        (spec(FULL, resources={"requests": {"cpu": 4}}), "Burstable"),
    ],
)
def test_the_quality_of_service_is_the_api_server_s(written: Document, qos: str) -> None:
    (found,) = pods_of([("f", manifest(spec=written))])
    assert found.qos is QosClass(qos)


LIMIT = {"limits": {"cpu": 1}}
GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("just text", "'just text' where a Pod was expected"),
        ([manifest()], "a list where a Pod was expected"),
        (7, "'7' where a Pod was expected"),
        ({}, "it has no kind"),
        ({"kind": 7}, "it has no kind"),
        ({"kind": "Service", "metadata": {"name": "a"}}, "'Service' makes no pods; known are Pod"),
        ({"kind": "pod"}, "'pod' makes no pods; did you mean 'Pod'"),
        ({"kind": "List"}, "a List without items"),
        ({"kind": "List", "items": {}}, "a List without items"),
        ({"kind": "List", "items": [7]}, "item 1: '7' where a Pod was expected"),
        ({"kind": "List", "items": [{"kind": "List"}]}, "'List' makes no pods"),
        ({"kind": "ServiceList", "items": [{}]}, "'Service' makes no pods"),
        (manifest(None), "it has no name: write metadata.name"),
        (manifest(""), "it has no name: write metadata.name"),
        (manifest(metadata=None), "it has no metadata"),
        (manifest(metadata=[]), "its metadata isn't an object"),
        (manifest(metadata={"name": 7}), "its name 7 isn't text: put it in quotes"),
        (manifest(metadata={"name": True}), "its name true isn't text"),
        (manifest("A_b"), "its name 'A_b' isn't one"),
        (manifest("a\x1b[2J"), "isn't one: small letters"),
        (manifest(metadata={"name": "a", "namespace": "B"}), "its namespace 'B' isn't one"),
        (manifest(metadata={"name": "a", "namespace": 7}), "its namespace 7 isn't one"),
        (
            manifest(metadata={"name": "a", "annotations": {"cpuset-scheduler": True}}),
            "its annotation 'cpuset-scheduler' is true, which isn't text: put it in quotes",
        ),
        (manifest(metadata={"name": "a", "labels": {7: "x"}}), "its label 7 is 'x'"),
        (manifest(metadata={"name": "a", "labels": []}), "its labels aren't an object"),
        (manifest(spec=None), "it has no spec"),
        (manifest(spec="x"), "its spec isn't an object"),
        (manifest(spec={}), "it has no containers"),
        (manifest(spec={"containers": []}), "it has no containers"),
        (manifest(spec={"containers": {}}), "it has no containers"),
        (manifest(spec={"containers": [7]}), "'7' where a container was expected"),
        (manifest(spec={"containers": [{}]}), "a container of it has no name"),
        (manifest(spec=spec(LIMIT, initContainers={})), "its spec.initContainers isn't a list"),
        (
            manifest(spec={"containers": [{"name": "x"}, {"name": "x"}]}),
            "two containers of it are called 'x'",
        ),
        (manifest(spec=spec([])), "the resources of container 'c0' aren't an object"),
        (manifest(spec=spec({"limits": 7})), "the limits of container 'c0' aren't an object"),
        (
            manifest(spec=spec({"limits": {"cpu": "lots"}})),
            "container 'c0': limits of 'cpu': not a quantity: 'lots'",
        ),
        (manifest(spec=spec({"limits": {"cpu": None}})), "limits of 'cpu': not a quantity"),
        (manifest(spec=spec({"limits": {"cpu": [2]}})), "limits of 'cpu': not a quantity"),
        (manifest(spec=spec({"limits": {"cpu": -1}})), "limits of 'cpu' are below zero"),
        (manifest(spec=spec({"limits": {7: 1}})), "limits of 7, which isn't text"),
        (
            manifest(spec=spec({"limits": {"cpu": 1}, "requests": {"cpu": 2}})),
            "its request of 'cpu' is above its limit",
        ),
        (manifest(spec=spec({}, resources=7)), "the resources of the pod's own"),
        (
            manifest(spec=spec({}, resources={"limits": {GPU: 1}})),
            "the pod's own resources may be cpu, memory and hugepages-*, not 'nvidia.com/gpu'",
        ),
        (manifest(spec=spec({}, overhead=[1])), "the requests of the pod's overhead aren't an"),
        (manifest(spec=spec({}, overhead={"cpu": "x"})), "overhead: requests of 'cpu': not a"),
        (
            manifest(spec=spec({"limits": {"memroy": 1}})),
            "container 'c0': 'memroy' is no resource: a device's has a domain, such as"
            " nvidia.com/gpu; did you mean 'memory'?",
        ),
        (manifest(spec=spec({"limits": {"gpu": 1}})), "'gpu' is no resource"),
        (manifest(spec=spec({"limits": {GPU: "0.5"}})), "aren't a whole number of devices"),
        *(
            (manifest(spec=spec(resources)), "its limit must be what it requests")
            for resources in (
                {"requests": {GPU: 1}},
                {"requests": {GPU: 1}, "limits": {GPU: 2}},
                {"requests": {"hugepages-2Mi": "2Mi"}},
            )
        ),
        (
            {"kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": "2"}},
            "it has no spec.template",
        ),
        (
            {
                "kind": "Job",
                "metadata": {"name": "a"},
                "spec": {"parallelism": "2", "template": {"spec": spec(LIMIT)}},
            },
            "its parallelism '2' isn't a whole number",
        ),
        (
            {
                "kind": "Deployment",
                "metadata": {"name": "a"},
                "spec": {"replicas": 10**9, "template": {"spec": spec(LIMIT)}},
            },
            f"more than {MOST_PODS} pods in all",
        ),
        ({"kind": "PodList", "items": [manifest(str(n)) for n in range(501)]}, "more than 500"),
    ],
)
def test_what_isn_t_pods_is_refused_with_its_place(document: object, said: str) -> None:
    with pytest.raises(ManifestError) as refused:
        read(None, document)
    assert str(refused.value).startswith("f: document 2")
    assert said in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_name_is_one_pod_s() -> None:
    with pytest.raises(ManifestError, match=r"f: document 2 .*a is there twice: first in f: doc"):
        read(manifest(), manifest())
    with pytest.raises(ManifestError, match=r"shop/p1 is there twice: it runs here already"):
        pods_of([("f", manifest(metadata={"name": "p1", "namespace": "shop"}))], [pod(1)])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "metadata", "name", "spec", "containers", "items", "resources", "limits"]
            )
            | st.integers(),
            inner | st.sampled_from(["Pod", "List", "Job"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_JSON, _JSON)
def test_nothing_else_is_ever_raised(document: object, other: object) -> None:
    written = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [document]}}
    said = []
    for each in (document, manifest(spec=other), manifest(metadata=other), written):
        try:
            pods_of([("f", each)])
        except ManifestError as error:
            said.append(str(error))
    assert all(each.startswith("f") for each in said)


def documents(tmp_path: Path, content: str | bytes) -> list[tuple[str, object]]:
    file = tmp_path / "pods.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_documents(str(file)))


def test_documents_are_numbered_and_dates_are_text(tmp_path: Path) -> None:
    found = documents(tmp_path, "a: 2026-01-01\n---\n---\nb: [1, x]\n...\n")
    assert [(place.partition(": ")[2], each) for place, each in found] == [
        ("document 1", {"a": "2026-01-01"}),
        ("document 2", None),
        ("document 3", {"b": [1, "x"]}),
    ]
    assert yaml.safe_load("a: 2026-01-01")["a"] != "2026-01-01"
    assert documents(tmp_path, "") == []
    assert documents(tmp_path, "\ufeffa: 1\n")[0][1] == {"a": 1}
    assert documents(tmp_path, "a: &x {b: 1}\nc: *x\n")[0][1] == {"a": {"b": 1}, "c": {"b": 1}}


def _bomb() -> str:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    return f"a0: &a0 [1]\n{levels}"


def _merges() -> str:
    levels = "".join(f"- &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 30))
    return f"- &a0 {{b: 1}}\n{levels}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: 1\n---\na: [1\n", "document 2: it isn't YAML: line 4, column 1: expected"),
        ("a: 1\n---\n\tb: 1\n", "document 2: it isn't YAML: line 3, column 1: found character"),
        ("a: *x\n", "document 1: it isn't YAML: line 1, column 4: found undefined alias"),
        ("a: !thing 1\n", "document 1: it isn't YAML: line 1, column 4: could not determine"),
        ("a: !!int x\n", "document 1: a value doesn't fit its tag"),
        ("? [1]\n: 2\n", "document 1: it isn't YAML: line 1, column 3: found unhashable key"),
        ("a: &a [*a]\n", "document 1: nested too deep, or in itself"),
        ("[" * 20_000, "document 1: nested too deep, or in itself"),
        (_bomb(), "document 1: aliases (`*`) make too much of it"),
        (_merges(), "document 1: aliases (`*`) make too much of it"),
        (b"a: \xff\n", "it isn't UTF-8 text, at byte 3"),
        ("a: 1\nb: \x00\n", "line 2: a character '\\x00', which YAML can't hold"),
        ("#" * (5 << 20), "longer than 4 MiB"),
        ("---\n" * 2000, "more than 1000 documents"),
    ],
)
def test_what_isn_t_yaml_is_refused_with_file_document_and_line(
    content: str | bytes, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refused:
        documents(tmp_path, content)
    assert str(refused.value).startswith(f"{tmp_path}/pods.yaml: ")
    assert said in str(refused.value)


def test_a_file_that_can_t_be_read_is_named(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "no", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=said):
            list(read_documents(str(path)))
    with pytest.raises(ConfigError, match="null"):
        list(read_documents("a\0b"))
