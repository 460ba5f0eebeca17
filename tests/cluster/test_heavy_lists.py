"""A list of pods that are as heavy as the API server takes them: each costs itself alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from numa_agent.cluster.watch.lines import MOST_LINE_BYTES
from tests.cluster.following import eventually, following
from tests.cluster.loopback import kubeconfig_of
from tests.cluster.pod_server import UID, Talk, pod, pod_list, pod_server, watching

STAY = 200.0
HEAVY = {f"{number:05x}": "" for number in range(256 * 1024 // 6)}
OWNED: Any = {"f:metadata": {"f:annotations": {f"f:{key}": {} for key in HEAVY}}}


def test_an_item_that_no_object_should_be_is_left_out_and_the_others_are_known(
    tmp_path: Path,
) -> None:
    huge = pod(2, annotations={"a": "x" * (MOST_LINE_BYTES + 1)})

    def listing(talk: Talk) -> None:
        talk.answer(200, pod_list(10, pod(1), huge, pod(3)))

    with (
        pod_server(listing, watching(stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        agent.running[0] = frozenset({UID.format(1), UID.format(3)})
        eventually(lambda: agent.names() == ["p1", "p3"])
        read = agent.watch.pods()
        assert read.left_out
        assert "longer than any object should be" in read.problems[0]


CHILD = """\
import re, sys, time
from pathlib import Path
from numa_agent.cluster.watch import Patience, watch_pods
def mib(name):
    found = re.search(name + r":\\s+([0-9]+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) >> 10
patience = Patience(answer=150, whole=150)
watch = watch_pods(
    Path(sys.argv[1]), "n", wake=lambda: None, running=lambda: None, patience=patience
)
before = mib("VmRSS")
deadline = time.monotonic() + 150
while time.monotonic() < deadline:
    try:
        found = watch.pods()
        break
    except Exception:
        time.sleep(0.05)
print(len(found.pods), before, mib("VmRSS"), mib("VmHWM"))
watch.close()
"""


def test_the_heaviest_pods_that_anybody_may_make_are_no_danger(tmp_path: Path) -> None:
    """60 of them are a list of 70 MiB; each has a quarter of a MiB of annotations' names."""
    owners = [{"manager": "x", "fieldsV1": OWNED}]
    heavy = json.dumps(pod(7, annotations=HEAVY, managedFields=owners))
    named = [heavy.replace('"p7"', f'"p{n}"') for n in range(60)]
    items = ",".join(each.replace(UID.format(7), UID.format(n)) for n, each in enumerate(named))
    text = json.dumps(pod_list(10)).replace('"items": []', f'"items": [{items}]').encode()
    assert len(text) > 64 << 20

    def listing(talk: Talk) -> None:
        talk.answer(200, text)

    with pod_server(listing, watching(stay=STAY)) as server:
        config = kubeconfig_of(server.url, tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(config)],
            capture_output=True,
            check=True,
            text=True,
            timeout=200,
        )
    count, before, after, peak = map(int, done.stdout.split())
    assert count == 60
    assert after - before < 24, done.stdout
    assert peak - before < 48, done.stdout
