"""The same churn of pods with numa-agent and with an agent that polls, side by side.

    python -m benchmarks.churn [--seed N] [--pods N] [--json]

On the end-to-end bench (a real kubelet, containerd and kube-apiserver; as root, see docs/e2e.md).
Pods come with CPUs of their own or get them while they run, get others, end and come again under
their name, have a container that ends and starts again, or have somebody else write their sets;
every third runs without. First with our DaemonSet, then with poller.py as a DaemonSet in its
place, whose docstring says what it stands for.

Of binding counts what a third sees: the container's first process says what it may use, and then
a sampler reads cpuset.cpus.effective of every container each 50 ms, or as often as it gets to run.
So what is shorter may go unseen, and what it sees it sees late by that at most. The moment of an
assignment is when its request was sent, by the guest's clock, which is known to some hundredths
of a second. The API server's audit log counts requests, the network of the agent's pod its bytes
(kubelet's probes and one look at the metrics too), and a probe in the kernel every write of
cpuset.cpus and cpuset.mems.
"""

import argparse
import json
import os
import sys
import time

from benchmarks.churn.accounting import account
from benchmarks.churn.agents import OURS, ChurnBench, put_poller, used
from benchmarks.churn.deploying import POLLS
from benchmarks.churn.driver import Driver
from benchmarks.churn.plan import Life, plan
from benchmarks.churn.table import Result, document, text
from benchmarks.churn.timeline import containers
from benchmarks.churn.watching import Watch

WARMING: tuple[Life, ...] = (Life(name="warming", kind="born", cpus="6-7", mems="1", lasts=1),)
SETTLED_SECONDS = 15.0
"""After the first pods, so that both agents have polled, published and told of them."""


def main() -> int:
    """Run both churns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pods", type=int, default=24, help="pods with CPUs of their own")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with ChurnBench() as bench:
        print(f"up: {bench.seconds}", file=sys.stderr)
        results = [(OURS, measure(bench, OURS, options.seed, options.pods))]
        put_poller(bench.cluster)
        results.append(("polls", measure(bench, POLLS, options.seed, options.pods)))
    if options.json:
        found = {"seed": options.seed, "pods": options.pods}
        print(json.dumps({**found, **{name: document(each) for name, each in results}}, indent=1))
        return 0
    counted = results[0][1].figures.containers
    print(text(f"seed {options.seed}, {options.pods} pods, {counted} containers", results))
    return 0


def measure(bench: ChurnBench, name: str, seed: int, pods: int) -> Result:
    """One churn with the agent of that name, which runs already."""
    cluster, watch = bench.cluster, Watch(bench.cluster.node)
    watch.start()
    Driver(cluster).run([WARMING])
    time.sleep(SETTLED_SECONDS)
    watch.stop()
    watch.start()
    before, began = used(bench, name), time.monotonic()
    driver = Driver(cluster)
    record = driver.run(plan(seed, pods))
    lasted = time.monotonic() - began
    load = os.getloadavg()[1]
    after = used(bench, name)
    watched = watch.stop()
    found = containers(
        watched.births, watched.samples, record.wishes, record.writes, end=record.end
    )
    return Result(
        figures=account(found),
        used=after.since(before),
        watched=watched,
        seconds=lasted,
        clock_error=driver.clock.error,
        load=load,
    )


if __name__ == "__main__":
    sys.exit(main())
