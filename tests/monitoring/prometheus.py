"""A real Prometheus on loopback that scrapes agents each second and evaluates the alerts."""

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.monitoring.recording import Agent
from tests.ports import free_address

HOLD = re.compile(r"^ +for: \w+\n", re.MULTILINE)


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    url: str
    log: Path

    def ask(self, path: str, **parameters: str) -> Any:
        """The `data` of an answer of its HTTP API. Raises OSError while there is none."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """The series of an expression now."""
        found = self.ask("query", query=expr)["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]


@contextmanager
def prometheus(folder: Path, agents: Sequence[Agent], rules: Path) -> Iterator[Prometheus]:
    """Scrapes the agents each second until the block ends; alerts fire at once."""
    hasty = folder / "hasty.yml"
    hasty.write_text(HOLD.sub("", rules.read_text()))
    address = free_address()
    targets = [{"targets": [each.address], "labels": {"node": each.node}} for each in agents]
    settings = {
        "global": {
            "scrape_interval": "1s",
            "scrape_timeout": "1s",
            "evaluation_interval": "2s",
        },
        "rule_files": [str(hasty)],
        "scrape_configs": [
            {"job_name": "numa-agent", "honor_labels": True, "static_configs": targets}
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL", "prometheus"),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    try:
        yield Prometheus(f"http://{address}", folder / "prometheus.log")
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
