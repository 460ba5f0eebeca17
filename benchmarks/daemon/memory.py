"""Where the agent's memory goes before it does anything: RSS after each import."""

import json
import subprocess
import sys

STEPS = (
    "argparse",
    "json",
    "threading",
    "ssl",
    "urllib3",
    "yaml",
    "numa_agent.config.reload",
    "numa_agent.core.report",
    "numa_agent.agent",
    "numa_agent.serve.board",
    "numa_agent.wiring.passes",
    "numa_agent.wiring.daemon",
    "numa_agent.cli.run",
    "numa_agent.host.nvml",
    "numa_agent.cluster.api",
    "numa_agent.cluster.watch",
    "google.protobuf.message",
    "numa_agent.host.podresources",
    "prometheus_client",
    "numa_agent.serve.serving",
    # Only for a kubeconfig or a proxy: in a pod its ServiceAccount is read without it.
    "kubernetes.config",
)

_CODE = """
import gc, importlib, json, sys
def rss():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
found = [("python", rss(), len(sys.modules))]
for name in sys.argv[1:]:
    importlib.import_module(name)
    gc.collect()
    found.append((name, rss(), len(sys.modules)))
print(json.dumps(found))
"""


def steps() -> list[tuple[str, float, float]]:
    """Each step's name, the MiB of RSS after it, and how many more those are than before."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *STEPS], capture_output=True, check=True, text=True
    )
    found: list[tuple[str, float, float]] = []
    for name, total, modules in json.loads(done.stdout):
        more = total - found[-1][1] if found else total
        found.append((f"{name} ({modules} modules)", total, more))
    return found
