"""`restore` beside an agent that runs."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numa_agent.config import Config, ConfigError
from numa_agent.core.cpusets import BIND
from numa_agent.core.errors import SourceError
from numa_agent.host.decisions import DecisionsFile
from numa_agent.wiring.lock import only_one
from numa_agent.wiring.plans import restore_once
from tests.cluster.loopback import kubeconfig_of, loopback
from tests.recorded import copied, machine

POD = "ml/train-0"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Config, list[Any]]]:
    """A live machine's configuration, and its pods as the API server has them."""
    root = tmp_path / "machine"
    copied(machine("two-socket-8gpu"), root)
    (root / "recorded.yaml").unlink()
    (root / "proc/sys/kernel/random/boot_id").unlink(missing_ok=True)
    node, pods = (
        json.loads((root / f"answers/{name}.json").read_text()) for name in ("node", "pods")
    )
    with loopback() as server:
        name = node["metadata"]["name"]
        server.objects[f"/api/v1/nodes/{name}"] = node
        server.objects["/api/v1/pods"] = pods | {"metadata": {"resourceVersion": "1"}}
        yield (
            Config(
                host_root=root,
                live_root=root,
                node_name=name,
                kubeconfig=kubeconfig_of(server.url, tmp_path),
                nvml="off",
                podresources="off",
            ),
            pods["items"],
        )


def annotate(pods: list[Any], value: str) -> None:
    metadata = next(each["metadata"] for each in pods if each["metadata"]["name"] == "train-0")
    metadata["annotations"][BIND] = value


@pytest.mark.parametrize("pod", [None, POD], ids=["all", "one"])
def test_it_is_refused_while_an_agent_runs_here_and_says_what_to_do(
    pod: str | None, live: tuple[Config, list[Any]]
) -> None:
    config, _ = live
    with only_one(config.lock_path), pytest.raises(SourceError) as refused:
        restore_once(config, pod)
    said = str(refused.value)
    assert "would be bound again at once: another numa-agent runs on this node" in said
    assert "apply the component `restore`" in said
    assert f'{BIND}: "off"' in said


def test_all_is_refused_before_anybody_is_asked(live: tuple[Config, list[Any]]) -> None:
    config, _ = live
    config = replace(config, kubeconfig=Path("/nowhere"))
    with only_one(config.lock_path), pytest.raises(SourceError, match="another numa-agent runs"):
        restore_once(config, None)


def test_a_pod_that_opted_out_is_taken_back_beside_the_agent(
    live: tuple[Config, list[Any]],
) -> None:
    config, pods = live
    annotate(pods, "off")
    with only_one(config.lock_path):
        restored = restore_once(config, POD)
    assert not restored.failures
    assert not any("opted" in each for each in restored.untouched.values())


def test_the_lock_is_free_again_when_it_is_done(live: tuple[Config, list[Any]]) -> None:
    config, _ = live
    assert not restore_once(config, None).failures
    assert config.lock_path.exists()
    with only_one(config.lock_path):
        pass


def test_a_pod_that_is_not_here_is_named_beside_an_agent_too(
    live: tuple[Config, list[Any]],
) -> None:
    config, _ = live
    with only_one(config.lock_path), pytest.raises(ConfigError, match="no pod ml/gone runs here"):
        restore_once(config, "ml/gone")


@pytest.mark.parametrize("pod", [None, POD], ids=["all", "one"])
def test_what_was_decided_here_is_forgotten_with_all_of_it(
    pod: str | None, live: tuple[Config, list[Any]]
) -> None:
    config, _ = live
    DecisionsFile(config.decisions_path).save({})
    assert not restore_once(config, pod).failures
    assert config.decisions_path.exists() is (pod is not None)


def test_what_was_decided_here_is_kept_while_not_all_can_be_taken_back(
    live: tuple[Config, list[Any]], tmp_path: Path
) -> None:
    config, _ = live
    DecisionsFile(config.decisions_path).save({})
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    config = replace(config, kubeconfig=kubeconfig_of("http://127.0.0.1:9", nobody))
    assert restore_once(config, None).failures
    assert config.decisions_path.exists()
