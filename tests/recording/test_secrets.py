"""A word that is planted everywhere on a machine is nowhere in its recording's bytes."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from numa_agent.config import Config
from tests.recording.machines import pod_group, put, whole_machine
from tests.recording.replay import Recorded, record

SECRETS = ("hunterzwei", "S3cretHunter", "zq.secret-zq/x")
WORD = {secret: secret.split(".")[-1].split("/")[0].encode() for secret in SECRETS}


def config(root: Path, **more: Any) -> Config:
    plain = Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)
    return replace(plain, **more)


def assert_absent(made: Recorded, secret: str) -> None:
    raw, word = made.raw.lower(), WORD[secret].lower()
    at = raw.find(word)
    assert at < 0, raw[max(0, at - 300) : at + 100]


def beside(value: Any, secret: str) -> Any:
    """A document with a member of that name and value in each of its objects."""
    if isinstance(value, dict):
        found = {key: beside(each, secret) for key, each in value.items()}
        return {**found, secret: secret, f"x-{secret}": {secret: [secret]}}
    if isinstance(value, list):
        return [beside(each, secret) for each in value]
    return value


def beside_members(value: Any, secret: str) -> Any:
    """The same of those objects alone that have members and not names."""
    if isinstance(value, dict):
        found = {key: beside_members(each, secret) for key, each in value.items()}
        if value.keys() & {"name", "kind", "metadata", "phase", "policyName", "uuid", "devices"}:
            return {**found, secret: secret, f"x-{secret}": {secret: [secret]}}
        return found
    if isinstance(value, list):
        return [beside_members(each, secret) for each in value]
    return value


def inside(value: Any, secret: str) -> Any:
    """A document whose every text holds it."""
    if isinstance(value, dict):
        return {key: inside(each, secret) for key, each in value.items()}
    if isinstance(value, list):
        return [inside(each, secret) for each in value]
    return f"{value}{secret}" if isinstance(value, str) else value


def keyed(value: Any, secret: str) -> Any:
    """A document whose every text and every second name of an object hold it."""
    if isinstance(value, dict):
        return {
            f"{key}{secret}" if place % 2 else key: keyed(each, secret)
            for place, (key, each) in enumerate(value.items())
        }
    if isinstance(value, list):
        return [keyed(each, secret) for each in value]
    return f"{secret}{value}" if isinstance(value, str) else value


UNREAD: dict[str, Any] = {
    "env": [{"name": "TOKEN", "value": "SECRET"}],
    "command": ["SECRET"],
    "args": ["--password=SECRET"],
    "image": "registry.example/SECRET:1",
    "volumeMounts": [{"name": "SECRET", "mountPath": "/SECRET"}],
}


def with_pods(root: Path, secret: str) -> None:
    """Give each container what a Pod has of secrets, and each pod annotations and labels."""
    unread = json.loads(json.dumps(UNREAD).replace("SECRET", secret))
    path = root / "answers/pods.json"
    pods = json.loads(path.read_text())
    for pod in pods["items"]:
        for container in pod["spec"]["containers"]:
            container |= unread
        pod["spec"] |= {
            "volumes": [{"name": secret, "secret": {"secretName": secret}}],
            "serviceAccountName": secret,
            "nodeSelector": {secret: secret},
            "imagePullSecrets": [{"name": secret}],
        }
        metadata = pod["metadata"]
        metadata.setdefault("annotations", {})[f"example.com/{secret}"] = secret
        metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = secret
        metadata.setdefault("labels", {})[secret] = secret
        pod["status"]["message"] = secret
    path.write_text(json.dumps(pods))


def each_answer(root: Path) -> Iterator[Path]:
    yield from sorted((root / "answers").glob("*.json"))
    kubelet = root / "var/lib/kubelet"
    yield from (kubelet / "cpu_manager_state", kubelet / "memory_manager_state")


def plant_in_documents(root: Path, secret: str, plant: Callable[[Any, str], Any]) -> None:
    for path in each_answer(root):
        path.write_text(json.dumps(plant(json.loads(path.read_text()), secret)))
    path = root / "var/lib/kubelet/config.yaml"
    path.write_text(yaml.safe_dump(plant(yaml.safe_load(path.read_text()), secret)))
    (root / "answers/configz.json").write_text(
        json.dumps({"kubeletconfig": yaml.safe_load(path.read_text())})
    )


def plant_names(root: Path, secret: str) -> None:
    """In each directory a file, a directory, a link and a link's end of that name."""
    name = secret.replace("/", "_")
    for folder, names, _ in list(os.walk(root)):
        where = Path(folder)
        put(where / f"{name}.txt", f"{secret}\n")
        (where / name).mkdir()
        (where / f"{name}.link").symlink_to(name)
        for link in names:
            assert link
    for driver in root.glob("sys/devices/pci*/**/driver"):
        driver.unlink()
        driver.symlink_to(f"../../../bus/pci/drivers/{name}")
    group = pod_group(root)
    for odd in (f"{name}.scope", f"kubepods-{name}.slice", f"crio-{name}.scope"):
        (group / odd).mkdir()
        put(group / odd / "cgroup.procs", "1\n")
    inner = next(group.glob("*.scope"))
    put(inner / name / name / "cpuset.cpus", "0-3\n")


def plant_contents(root: Path, secret: str) -> None:
    """In the kernel's files; some hold nothing else."""
    for top in ("sys", "proc"):
        for place, path in enumerate(sorted((root / top).rglob("*"))):
            if path.is_symlink() or not path.is_file():
                continue
            kept = b"" if place % 3 == 0 else path.read_bytes()
            end = b"" if place % 5 == 0 else b"\n"
            path.write_bytes(kept + secret.encode() + end)
    put(root / "proc/driver/nvidia/version", NVRM.replace("SECRET", secret))
    put(root / "proc/self/mountinfo", MOUNTS.replace("SECRET", secret.replace("/", "")))


NVRM = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root@SECRET)
GCC version:  gcc version 12.2.0 (SECRET)
"""
MOUNTS = """\
21 1 8:2 /SECRET / rw - ext4 /dev/SECRET rw,SECRET
26 22 0:24 /../SECRET /sys/fs/cgroup rw - cgroup2 SECRET rw,nsdelegate,name=SECRET
27 22 0:25 / /SECRET/cgroup rw - cgroup SECRET rw,cpuset,name=SECRET
"""
ANNOTATIONS = (
    '{"cpuset": "0-3", "SECRET": "SECRET", "n": {"SECRET": [1, "SECRET"]}}',
    '{"cpuset": "SECRET"}',
    '{"cpuset": "0-3"',
    "SECRET",
    '{"SECRET": {"0": {"elems": {"2": {"SECRET": "SECRET"}}}}}',
    '{"version": 1, "containers": {"SECRET": {"cpus": "1"}}}',
    '{"numaNodeResources": [{"node": 0, "resources": {"SECRET/x": "1", "cpu": "SECRET"}}]}',
    '{"cpuset": "0-3", "cpuset": "SECRET"}',
    '{"cpuset": "0-3", "note": "SECRE\\u0054"}',
)
READ = (
    "numa-agent.io/assignment",
    "scheduling.koordinator.sh/resource-status",
    "cpuset",
    "scheduling.koordinator.sh/numa-topology-spec",
    "numa-agent.io/bind",
    "cpuset-scheduler",
    "cpu-quota.crio.io/SECRET",
    "kubernetes.io/config.hash",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return whole_machine(tmp_path / "machine", "mig-mixed")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("plant", [beside, inside, keyed])
def test_nothing_of_documents_comes_out(
    secret: str, plant: Callable[[Any, str], Any], root: Path, tmp_path: Path
) -> None:
    with_pods(root, secret)
    plant_in_documents(root, secret, plant)
    settings = config(root, kubelet_config="configz")
    assert_absent(record(root, tmp_path, config=settings), secret)
    assert_absent(record(root, tmp_path), secret)


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_of_names_and_contents_of_files_comes_out(
    secret: str, root: Path, tmp_path: Path
) -> None:
    plant_names(root, secret)
    assert_absent(record(root, tmp_path / "names"), secret)
    plant_contents(root, secret)
    made = record(root, tmp_path / "contents")
    assert_absent(made, secret)
    assert made.text("proc/driver/nvidia/version").split() == [
        *("NVRM", "version:", "NVIDIA", "UNIX", "Kernel", "Module", "580.95.05")
    ]


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_of_annotations_that_are_read_comes_out(
    secret: str, root: Path, tmp_path: Path
) -> None:
    path = root / "answers/pods.json"
    document = json.loads(path.read_text())
    template = document["items"][0]
    document["items"] = [
        {**template, "metadata": {**template["metadata"], "annotations": {key: text}}}
        for key in READ
        for text in ANNOTATIONS
    ]
    path.write_text(json.dumps(document).replace("SECRET", secret))
    made = record(root, tmp_path)
    assert_absent(made, secret)
    assert len(made.json("answers/pods.json")["items"]) == len(READ) * len(ANNOTATIONS)


def test_what_isn_t_read_stays_out_where_names_are_kept(root: Path, tmp_path: Path) -> None:
    secret = SECRETS[0]
    with_pods(root, secret)
    plant_in_documents(root, secret, beside_members)
    put(root / "proc/1/environ", secret)
    put(root / "var/lib/kubelet/pki/key.pem", secret)
    put(root / "etc/shadow", secret)
    assert_absent(record(root, tmp_path, keep_names=True), secret)


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_of_settings_comes_out(secret: str, root: Path, tmp_path: Path) -> None:
    overrides = tmp_path / "overrides.yaml"
    overrides.write_text(f"0000:3b:00.0: 1\n{secret}: {secret}\n")
    settings = config(
        root,
        locality_overrides=overrides,
        trusted_managers=(secret, "koord-scheduler"),
        kubelet_config=f"/{secret}",
        kubelet_config_dir=f"/etc/{secret}",
        node_name=secret,
    )
    made = record(root, tmp_path, config=settings)
    assert_absent(made, secret)
    assert made.text("overrides.yaml") == "0000:3b:00.0: 1\n"
    assert '"koord-scheduler"]' in made.text("settings.yaml")


@pytest.mark.parametrize(
    "moment",
    [
        *("10.20.30.40", "2026-03-02T08:01:00Z10.20.30.40", "+49.30.123456", "2026-03-02"),
        *("20:26:03", "2026-03-02T08:01:00", "2026-03-02T08:01:00.1234567890Z"),
    ],
)
def test_nothing_but_a_moment_is_one(moment: str, root: Path, tmp_path: Path) -> None:
    path = root / "answers/pods.json"
    document = json.loads(path.read_text())
    for pod in document["items"]:
        pod["status"]["startTime"] = moment
    path.write_text(json.dumps(document))
    made = record(root, tmp_path)
    told = {pod["status"]["startTime"] for pod in made.json("answers/pods.json")["items"]}
    assert not {each for each in told if moment in each}
    assert moment.encode() not in made.raw


def test_a_planted_word_would_be_found(root: Path, tmp_path: Path) -> None:
    path = root / "answers/pods.json"
    path.write_text(path.read_text().replace('"ml"', '"hunterzwei"'))
    with pytest.raises(AssertionError):
        assert_absent(record(root, tmp_path, keep_names=True), "hunterzwei")
