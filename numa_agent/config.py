"""Where a machine keeps its facts, and what the operator may set.

This is the only module that spells the paths of a machine; all are relative to the host root.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numa_agent.core.overrides import Overrides
from numa_agent.core.overrides import parse as parse_overrides

CPU_DIR = "sys/devices/system/cpu"
NODE_DIR = "sys/devices/system/node"
PCI_DIR = "sys/bus/pci/devices"
PMU_DIR = "sys/devices"
HUGEPAGES_DIR = "sys/kernel/mm/hugepages"
CPUINFO = "proc/cpuinfo"
MEMINFO = "proc/meminfo"
NVIDIA_GPUS_DIR = "proc/driver/nvidia/gpus"
CGROUP_DIR = "sys/fs/cgroup"
KUBELET_DIR = "var/lib/kubelet"
RECORDED_MARK = "recorded.yaml"
RECORDED_ANSWERS = "answers"


class ConfigError(Exception):
    """What the operator set can't be used; the message names each mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator set.

    `host_root` is the machine looked at. `live_root` is where the machine that this process runs
    on is mounted: only there are its API server and drivers asked. `node_name` is the Node's name,
    None for a recorded machine, which knows its own. `nvml` is `auto`, `off` or the path of an
    NVML library. `locality_overrides` is a file of PCI addresses and their NUMA nodes.
    """

    host_root: Path
    live_root: Path
    node_name: str | None
    kubeconfig: Path | None
    nvml: str = "auto"
    locality_overrides: Path | None = None

    @property
    def live(self) -> bool:
        """Whether the machine looked at is the one that this process runs on."""
        return self.host_root.resolve() == self.live_root.resolve()


_EXPECTED = "keys and values, such as hostRoot: /host"
_KEYS = ("hostRoot", "liveRoot", "nodeName", "kubeconfig", "nvml", "localityOverrides")


def load(
    file: Path | None, flags: Mapping[str, str | None], environment: Mapping[str, str] = os.environ
) -> Config:
    """The configuration: flags over the YAML file over the environment (NODE_NAME).

    Flags are by the file's keys, None where not given. Raises ConfigError with all mistakes.
    """
    mistakes: list[str] = []
    values = {} if file is None else _checked(_yaml_mapping(file, _EXPECTED), file, mistakes)
    mistakes += [f"{key} must not be empty" for key, value in flags.items() if value == ""]
    if mistakes:
        raise ConfigError("\n  ".join(["the configuration has mistakes:", *mistakes]))
    values |= {key: value for key, value in flags.items() if value is not None}
    kubeconfig, overrides = values.get("kubeconfig"), values.get("localityOverrides")
    return Config(
        host_root=Path(values.get("hostRoot", "/")),
        live_root=Path(values.get("liveRoot", "/")),
        node_name=values.get("nodeName") or environment.get("NODE_NAME") or None,
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        nvml=values.get("nvml", "auto"),
        locality_overrides=Path(overrides) if overrides else None,
    )


def read_overrides(file: Path | None) -> Overrides:
    """The operator's locality overrides. Raises ConfigError when the file itself isn't usable."""
    if file is None:
        return Overrides()
    return parse_overrides(_yaml_mapping(file, 'addresses and nodes, such as "0000:3b:00.0": 1'))


def _yaml_mapping(file: Path, expected: str) -> Mapping[object, object]:
    import yaml

    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration {file}: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"configuration {file} isn't YAML: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"configuration {file}: expected {expected}")
    return document


def _checked(document: Mapping[object, object], file: Path, mistakes: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in document.items():
        if not isinstance(key, str) or key not in _KEYS:
            mistakes.append(f"{file}: unknown key {key!r} (known: {', '.join(_KEYS)})")
        elif not isinstance(value, str) or not value:
            mistakes.append(f"{file}: {key} must be text, not {value!r}")
        else:
            values[key] = value
    return values
