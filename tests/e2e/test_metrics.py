"""A real Prometheus scrapes the agent as its pod's annotations ask."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import NAMESPACE, Cluster
from tests.e2e.pods import assigned, pod
from tests.ports import free_address

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs Debian's prometheus"),
]


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process with the block."""
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def settings(annotations: dict[str, str], forwarded: str) -> dict[str, object]:
    """Scrapes as the pod's annotations ask, through the port that is forwarded to it.

    Debian's Prometheus can't discover pods by itself, and their network isn't this machine's.
    """
    asked = {name.removeprefix("prometheus.io/"): each for name, each in annotations.items()}
    assert asked["scrape"] == "true"
    job = {
        "job_name": "pods",
        "honor_labels": True,
        "scheme": asked["scheme"],
        "metrics_path": asked["path"],
        "static_configs": [{"targets": [forwarded]}],
    }
    timing = {"scrape_interval": "10s", "scrape_timeout": "10s"}
    return {"global": timing, "scrape_configs": [job]}


def query(address: str, expression: str) -> list[tuple[dict[str, str], str]]:
    """The series of an expression now, none while nobody answers."""
    url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return []
    return [(each["metric"], each["value"][1]) for each in found]


def test_prometheus_scrapes_the_agent(cluster: Cluster, tmp_path: Path) -> None:
    agent = cluster.pod(cluster.agent, NAMESPACE)
    assert agent is not None
    annotations = agent["metadata"]["annotations"]
    forwarded, own = free_address(), free_address()
    port = f"{forwarded.rpartition(':')[2]}:{annotations['prometheus.io/port']}"
    target = ("--address", "127.0.0.1", "-n", NAMESPACE, f"pod/{cluster.agent}")
    (tmp_path / "prometheus.yml").write_text(json.dumps(settings(annotations, forwarded)))
    cluster.apply(pod("scraped", annotations=assigned("6-7", mems="1")))
    cluster.running("scraped")
    program = ("setpriv", "--pdeathsig", "KILL", "prometheus", f"--web.listen-address={own}")
    with (
        (tmp_path / "log").open("wb") as log,
        ended(cluster.start("port-forward", *target, port, log=tmp_path / "port-forward.log")),
        ended(
            subprocess.Popen(
                [*program, "--config.file=prometheus.yml", "--storage.tsdb.path=data"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=tmp_path,
            )
        ),
    ):
        cluster.until("scraped", lambda: query(own, "up == 1"))
        aligned = 'numa_agent_containers{verdict="aligned"} == 1'
        cluster.until("the verdict", lambda: query(own, aligned))
