"""The map of a recorded machine with 8 GPUs, and of generated ones with up to 64 and as many NICs.

NVML's answers are included: they are read through the recorded library.

    python -m benchmarks.devices [--rounds N]

Each round reads every machine once, in this process. Figures are medians.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from numa_agent.config import Config
from numa_agent.core.topology import Topology
from numa_agent.wiring.map import read_map
from tools.machines.__main__ import generate
from tools.machines.tree import write_tree

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "sysfs" / "two-socket-8gpu"
SIZES = (8, 16, 32, 64)

SPEC = """\
about: A machine for measuring, with {gpus} GPUs and NICs in pairs behind switches.
cpus: {{packages: 2, cores: 56, threads: 2, l3: {{cores: 56, size: 105Mi}}}}
nodes:
  - {{id: 0, cpus: "0-55,112-167", memory: 1Ti}}
  - {{id: 1, cpus: "56-111,168-223", memory: 1Ti}}
distances: 21
pci:
  - {{roots: [{low}], node: 0, devices: [{switches}]}}
  - {{roots: [{high}], node: 1, devices: [{switches}]}}
nvidia: {{nvlink: switch}}
"""


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        machines = _machines(Path(folder))
        taken: dict[str, list[float]] = {name: [] for name in machines}
        for _ in range(rounds):
            for name, config in machines.items():
                start = time.perf_counter()
                read_map(config)
                taken[name].append(time.perf_counter() - start)
        rows = [_row(name, read_map(machines[name]), times) for name, times in taken.items()]
    print(f"{'machine':<18}{'GPUs':>5}{'NICs':>6}{'links':>8}{'median ms':>11}{'ms per GPU':>12}")
    print("\n".join(rows))
    return 0


def _row(name: str, topology: Topology, times: Sequence[float]) -> str:
    median = statistics.median(times) * 1000
    gpus, nics, links = len(topology.gpus), len(topology.nics), len(topology.links)
    return f"{name:<18}{gpus:>5}{nics:>6}{links:>8}{median:>11.1f}{median / gpus:>12.2f}"


def _machines(folder: Path) -> dict[str, Config]:
    specs = folder / "specs"
    specs.mkdir()
    for gpus in SIZES:
        (specs / f"generated-{gpus}.yaml").write_text(_spec(gpus))
    for name, tree in generate(specs).items():
        write_tree(folder / name, tree)
    roots = [FIXTURE, *(folder / f"generated-{gpus}" for gpus in SIZES)]
    return {
        root.name: Config(host_root=root, live_root=Path("/"), node_name=None, kubeconfig=None)
        for root in roots
    }


def _spec(gpus: int) -> str:
    """Four root complexes a socket, with as many switches each as it takes."""
    roots = [f'"{domain:04x}:00"' for domain in range(8)]
    return SPEC.format(
        gpus=gpus,
        low=", ".join(roots[:4]),
        high=", ".join(roots[4:]),
        switches=", ".join(["{switch: [h100, cx7]}"] * (gpus // 8)),
    )


if __name__ == "__main__":
    sys.exit(main())
