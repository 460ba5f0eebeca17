"""Options that several commands share, and the configuration that they make.

Options stay text until config.load has looked at them: Path("") would be the current folder.
"""

import argparse

from numa_agent import config
from numa_agent.config import Config


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declare which machine is looked at, and what may be asked and corrected about it."""
    parser.add_argument(
        "--host-root",
        metavar="DIR",
        help="the root of the machine to look at, a folder with its sys/ and proc/: `/` is this"
        " one (default), a recorded one is a folder of fixtures/sysfs/",
    )
    parser.add_argument("--config", metavar="FILE", help="settings in YAML; options come first")
    parser.add_argument(
        "--nvml",
        metavar="auto|off|PATH",
        help="whether to ask NVIDIA's management library, or which one (default: auto, on the live"
        " machine only; it wakes GPUs that have no persistence mode)",
    )
    parser.add_argument(
        "--locality-overrides",
        metavar="FILE",
        help="YAML of PCI addresses or ranges and their NUMA node, where firmware is wrong:"
        " 0000:80:00.0-0000:ff:1f.7: 1",
    )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Declare which Node this is and how its API server is reached."""
    parser.add_argument("--node-name", metavar="NAME", help="this machine's Node ($NODE_NAME)")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="how to reach the API server (default: the pod's service account, else ~/.kube)",
    )


def settings(arguments: argparse.Namespace, **more: str | None) -> Config:
    """What the shared options say, with `more` by the configuration's keys.

    Raises ConfigError with all mistakes.
    """
    return config.load(arguments.config, flags(arguments) | more)


def flags(arguments: argparse.Namespace) -> dict[str, str | None]:
    """The options of add_settings and, where the command has it, add_cluster, by their keys."""
    return {
        "hostRoot": arguments.host_root,
        "nvml": arguments.nvml,
        "localityOverrides": arguments.locality_overrides,
        "nodeName": getattr(arguments, "node_name", None),
        "kubeconfig": getattr(arguments, "kubeconfig", None),
    }
