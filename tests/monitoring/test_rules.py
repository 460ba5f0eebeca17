"""The alerts, on series that real runs of the agent produced."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.monitoring.promtool import checked, firing
from tests.monitoring.recording import Agent
from tests.monitoring.scenes import SCENES
from tests.monitoring.series import series_of
from tools.monitoring.alerts import GROUPS
from tools.monitoring.rules import groups, written
from tools.monitoring.settings import MIB, Settings

pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="the command promtool isn't there: it is in Debian's package prometheus",
)


NARROW = {
    "NumaAgentMemoryHigh": Settings(memory_limit=20 * MIB),
    "NumaAgentPassesSlow": Settings(slow_pass_seconds=0.001),
    "NumaAgentAbsent": Settings(job="another"),
}
"""By the alert that a healthy run fires where these are set."""


def test_promtool_finds_every_rule_and_no_mistake(rules: Path) -> None:
    assert f"SUCCESS: {sum(map(len, GROUPS.values()))} rules found" in checked(rules)


@pytest.mark.parametrize("name", SCENES)
def test_a_run_fires_exactly_the_alerts_that_tell_of_it(
    name: str, runs: Mapping[str, Agent], rules: Path
) -> None:
    running = runs[name]
    found = series_of(running.scrapes, running.labels)
    assert firing(rules, found) == SCENES[name].fires


@pytest.mark.parametrize("name", NARROW)
def test_a_healthy_run_is_too_much_for_narrower_settings(
    name: str, runs: Mapping[str, Agent], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(written(groups(NARROW[name])))
    running = runs["healthy"]
    assert firing(rules, series_of(running.scrapes, running.labels)) == {name}
