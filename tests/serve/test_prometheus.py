"""A real Prometheus scrapes the pages, by TLS and with a token, and answers questions on them."""

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from numa_agent.core.access import User
from numa_agent.core.publishing import Outcome, Published
from numa_agent.serve.access import Tokens
from numa_agent.serve.board import Board
from numa_agent.serve.certificates import Certificates
from numa_agent.serve.server import Server
from numa_agent.serve.serving import serve
from tests.core.test_report import GOOD
from tests.ports import free_port
from tests.serve.clients import wait_until
from tests.serve.reports import FULL
from tests.serve.test_tls import make_pair

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("openssl") is None,
    reason="prometheus or openssl isn't there: they are Debian packages of these names",
)

SECONDS = 60


class Prometheus:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def ask(self, query: str) -> list[tuple[dict[str, str], float]]:
        """The series of a query, none while nobody answers."""
        url = f"{self._url}/query?{urllib.parse.urlencode({'query': query})}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                found: dict[str, Any] = json.load(answer)
        except OSError:
            return []
        return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]

    def one(self, query: str) -> tuple[dict[str, str], float]:
        """The only series of a query, once there is one: after a scrape that fails there isn't."""
        deadline = time.monotonic() + SECONDS
        while len(found := self.ask(query)) != 1:
            assert time.monotonic() < deadline, found
            time.sleep(0.2)
        return found[0]

    def wait_for(self, query: str, value: float) -> None:
        deadline = time.monotonic() + SECONDS
        while [each for _, each in self.ask(query)] != [value]:
            assert time.monotonic() < deadline, self.ask(query)
            time.sleep(0.2)


@contextmanager
def prometheus(folder: Path, scrape: dict[str, object]) -> Iterator[Prometheus]:
    """Scrapes every second until the block ends."""
    port = free_port()
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [{"job_name": "numa-agent", **scrape}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),
                *("prometheus", f"--config.file={folder / 'prometheus.yml'}"),
                *(
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            yield Prometheus(port)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


@contextmanager
def guarded(told: Board, folder: Path) -> Iterator[tuple[Server, Path]]:
    """The pages by TLS, for the token `good` alone."""
    pair = make_pair(folder, "tls")
    tokens = Tokens(
        lambda token: User(name="prometheus") if token == "good" else None,
        lambda _, path: path == "/metrics",
    )
    certificates = Certificates(pair.certificate, pair.key)
    with closing(
        serve(told, "127.0.0.1", 0, certificates=certificates, tokens=tokens, per_container=True)
    ) as server:
        yield server, pair.certificate


def test_prometheus_takes_every_series(tmp_path: Path) -> None:
    told = Board(period=45.0, scheduler="ack")
    told.passed(FULL)
    told.wrote(GOOD.writes)
    told.tried({"kind": "Device"}, Published(outcome=Outcome.CREATED, detail=""))
    with guarded(told, tmp_path) as (server, authority):
        scrape: dict[str, object] = {
            "scheme": "https",
            "authorization": {"credentials": "good"},
            "tls_config": {"ca_file": str(authority)},
            "honor_labels": True,
            "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}],
        }
        with prometheus(tmp_path, scrape) as asked:
            asked.wait_for('up{job="numa-agent"}', 1)
            asked.wait_for('numa_agent_passes_total{outcome="faulty"}', 1)
            # From its second scrape on the number of series stays; nothing was dropped.
            asked.wait_for('numa_agent_http_requests_total{code="200"} >= bool 1', 1)
            stored = 'count({job="numa-agent",__name__=~"numa_agent.+|process.+"})'
            asked.wait_for(f"count(scrape_samples_post_metric_relabeling == on() {stored})", 1)
            assert asked.one(stored)[1] > 100
            verdict, _ = asked.one('numa_agent_container_verdict{verdict="aligned"}')
            assert (verdict["namespace"], verdict["pod"]) == ("shop", "p1")
            told.passed(GOOD)
            asked.wait_for('numa_agent_passes_total{outcome="good"}', 1)
        log = (tmp_path / "log").read_text()
        assert "out of order" not in log
        assert "duplicate" not in log.lower()


def test_prometheus_without_a_token_is_kept_out(tmp_path: Path) -> None:
    told = Board(period=45.0)
    told.passed(GOOD)
    with guarded(told, tmp_path) as (server, authority):
        scrape: dict[str, object] = {
            "scheme": "https",
            "tls_config": {"ca_file": str(authority)},
            "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}],
        }
        with prometheus(tmp_path, scrape) as asked:
            asked.wait_for('up{job="numa-agent"}', 0)
            # One that took too long is down, too.
            wait_until(lambda: server.counts.get(("/metrics", "401"), 0) >= 1)
