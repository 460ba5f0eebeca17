"""What watches on the node while pods come and go: the sampler, and a probe in the kernel."""

import json
import re
import shlex
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.churn.driver import FOLDER
from benchmarks.churn.timeline import Birth, Sample
from tests.e2e.bench.guest import Guest
from tests.vm.guest import SHARE

PERIOD_SECONDS = 0.05
TRACING = "/sys/kernel/tracing"

# What writes the files cpuset.cpus and cpuset.mems of every cgroup: kernel/cgroup/cpuset.c.
PROBE = f"""\
set -e
[ -e {TRACING}/trace ] || mount -t tracefs tracefs {TRACING}
cd {TRACING}
echo 0 >tracing_on
echo >trace
[ -e events/kprobes/churn ] || echo 'p:churn cpuset_write_resmask' >kprobe_events
echo 1 >events/kprobes/churn/enable
echo 1 >tracing_on
"""

SAMPLER = """\
set -e
rm -rf {folder}
mkdir -p {folder}
setsid {python} -E -S {program} /sys/fs/cgroup {seconds} {folder} >{folder}/said 2>&1 </dev/null &
"""

STOP = """\
touch {folder}/stop
for try in $(seq 100); do
  [ ! -e {folder}/periods ] || exit 0
  sleep 0.1
done
cat {folder}/said
exit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What was seen: the containers' own words, what the kernel held them to, who wrote sets."""

    births: list[Birth]
    samples: list[Sample]
    periods: list[float]
    writers: Counter[str]


class Watch:
    """The sampler and the probe, from `start` to `stop`."""

    def __init__(self, node: Guest) -> None:
        self._node = node

    def start(self) -> None:
        """Begin anew."""
        program = Path(__file__).with_name("sampler.py")
        shutil.copy(program, self._node.share)
        python = Path(sys.prefix).resolve() / "bin" / Path(sys.executable).name
        self._node.run(PROBE)
        self._node.run(
            SAMPLER.format(
                folder=FOLDER,
                python=shlex.quote(str(python)),
                program=SHARE / program.name,
                seconds=PERIOD_SECONDS,
            )
        )

    def stop(self) -> Watched:
        """End both and read what they have."""
        self._node.run(f"echo 0 >{TRACING}/tracing_on")
        self._node.run(STOP.format(folder=FOLDER))
        births = self._node.run(f"cat {FOLDER}/births 2>/dev/null || :").splitlines()
        samples = self._node.read(str(FOLDER / "samples")).splitlines()
        return Watched(
            births=[Birth(float(at), *rest) for at, *rest in map(str.split, births)],
            samples=[Sample(**json.loads(line)) for line in samples],
            periods=json.loads(self._node.read(str(FOLDER / "periods"))),
            writers=writers(self._node.read(f"{TRACING}/trace")),
        )


def writers(trace: str) -> Counter[str]:
    """How often each command wrote a set, by ftrace's text."""
    pattern = re.compile(r"^ *(.+)-\d+ +\[\d+\] .*: churn: ", re.MULTILINE)
    return Counter(each.strip() for each in pattern.findall(trace))
