"""What `promtool` says of rules and series."""

import json
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.monitoring.series import Series, input_series

SECONDS = 60
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'


def checked(rules: Path) -> str:
    """What `promtool check rules` prints. Fails where it finds a mistake."""
    done = subprocess.run(
        ["promtool", "check", "rules", str(rules)], capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def firing(
    rules: Path, found: Sequence[Series], growing: Collection[str] = (), minutes: int = 45
) -> frozenset[str]:
    """The alerts that fire so many minutes after a run began that goes on as it was.

    promtool says what it has where that isn't what a test expects, and so it is asked for nothing.
    """
    test = {
        "interval": "1s",
        "input_series": input_series(found, minutes * 60, growing),
        "promql_expr_test": [{"expr": FIRING, "eval_time": f"{minutes}m", "exp_samples": []}],
    }
    content = {"rule_files": [str(rules)], "evaluation_interval": "30s", "tests": [test]}
    path = rules.with_name(f"{rules.stem}-{found[0].labels['node']}.json")
    # JSON is YAML as well.
    path.write_text(json.dumps(content))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, timeout=SECONDS
    )
    said = done.stdout + done.stderr
    names = frozenset(re.findall(r'alertname="(\w+)"', said))
    assert (done.returncode == 0) is (not names), said
    return names
