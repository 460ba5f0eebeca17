"""Where a machine keeps its facts, and what the operator may set.

This is the only module that spells where things are on a machine, relative to the host root; the
names of the files below these places are each reader's own.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from numa_agent.core.overrides import Overrides
from numa_agent.core.overrides import parse as parse_overrides

if TYPE_CHECKING:
    import yaml

CPU_DIR = "sys/devices/system/cpu"
NODE_DIR = "sys/devices/system/node"
PCI_DIR = "sys/bus/pci/devices"
PMU_DIR = "sys/devices"
HUGEPAGES_DIR = "sys/kernel/mm/hugepages"
CPUINFO = "proc/cpuinfo"
MEMINFO = "proc/meminfo"
OWN_MAPS = "/proc/self/maps"
"""This process's own mapped files, wherever the machine looked at is."""
BOOT_ID = "proc/sys/kernel/random/boot_id"
NVIDIA_GPUS_DIR = "proc/driver/nvidia/gpus"
CGROUP_DIR = "sys/fs/cgroup"
KUBELET_DIR = "var/lib/kubelet"
PODRESOURCES_SOCKET = f"{KUBELET_DIR}/pod-resources/kubelet.sock"
RECORDED_MARK = "recorded.yaml"
RECORDED_ANSWERS = "answers"


SCHEDULERS = ("kube-scheduler", "koordinator", "ack")


class ConfigError(Exception):
    """What the operator set can't be used; the message names each mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator set.

    `host_root` is the machine looked at. `live_root` is where the machine that this process runs
    on is mounted: only there are its API server and drivers asked. `node_name` is the Node's name,
    None for a recorded machine, which knows its own. `nvml` is `auto`, `off` or the absolute path
    of an NVML library. `locality_overrides` is a file of PCI addresses and their NUMA nodes.

    `scheduler` is whose language is published. `kubelet_config` is `auto` (the file where kubelet
    has it), `configz` (the running kubelet is asked through the API server) or a path on the
    machine, `kubelet_config_dir` kubelet's drop-in directory there. `podresources` is `auto`,
    `off` or the socket's path there. `topology_policy` and `topology_scope` are what this agent
    keeps in place of kubelet's Topology Manager, `kubelet` where that one's own stand.
    `pod_fingerprint` is which pods' names the scheduler compares, `pod_fingerprint_pods` its
    plugin's informerMode. `memory_zones` asks for zones of memory-only nodes, `takeover` to write
    over another publisher. `mems` says when memory nodes are bound, `shared_pods` whether pods
    without CPUs of their own are kept off those of others, `lift_quota` whether pods with such
    CPUs lose their quota, and `trusted_managers` whose assignments are followed (field managers;
    everyone's where there are none). `metrics` is `off`
    or the address and port where they are served.
    """

    host_root: Path
    live_root: Path
    node_name: str | None
    kubeconfig: Path | None
    nvml: str = "auto"
    locality_overrides: Path | None = None
    scheduler: str = "kube-scheduler"
    kubelet_config: str = "auto"
    kubelet_config_dir: str | None = None
    podresources: str = "auto"
    topology_policy: str = "kubelet"
    topology_scope: str = "kubelet"
    pod_fingerprint: str = "all"
    pod_fingerprint_pods: str = "Dedicated"
    memory_zones: bool = False
    takeover: bool = False
    mems: str = "with-cpus"
    shared_pods: bool = True
    lift_quota: bool = False
    trusted_managers: tuple[str, ...] = ()
    metrics: str = "off"

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of the metrics, None where they aren't served."""
        match = _ADDRESS.fullmatch(self.metrics)
        return None if match is None else (match["host"].strip("[]"), int(match["port"]))

    @property
    def live(self) -> bool:
        """Whether the machine looked at is the one that this process runs on."""
        # Path.resolve raises on a loop of symlinks, which is but a machine that isn't there.
        return os.path.realpath(self.host_root) == os.path.realpath(self.live_root)


_EXPECTED = "keys and values, such as hostRoot: /host"
_ADDRESS = re.compile(r"(?P<host>[0-9a-zA-Z.:\[\]-]{1,255}):(?P<port>[1-9]\d{0,4})", re.ASCII)
_PATHS = ("hostRoot", "liveRoot", "nodeName", "kubeconfig", "localityOverrides")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "scheduler": SCHEDULERS,
    "topologyPolicy": ("kubelet", "none", "best-effort", "restricted", "single-numa-node"),
    "topologyScope": ("kubelet", "container", "pod"),
    "podFingerprint": ("all", "with-exclusive-resources"),
    "podFingerprintPods": ("Dedicated", "Shared"),
    "memoryZones": ("off", "on"),
    "mems": ("with-cpus", "off", "migrate"),
    "sharedPods": ("bind", "leave"),
    "cpuQuota": ("keep", "lift"),
    "takeover": ("off", "on"),
}
"""Settings that are one of a few words; the first is the default."""
_WORDS_OR_PATH: Mapping[str, tuple[tuple[str, ...], str]] = {
    "nvml": (("auto", "off"), "the absolute path of a libnvidia-ml.so.1"),
    "podresources": (("auto", "off"), "the absolute path of kubelet's podresources socket"),
    "kubeletConfig": (("auto", "configz"), "the absolute path of kubelet's configuration"),
    "kubeletConfigDir": ((), "the absolute path of kubelet's drop-in directory"),
}
"""Settings that are a word or an absolute path on the machine."""
KEYS = (*_PATHS, *_WORDS_OR_PATH, *_CHOICES, "trustedManagers", "metrics")
"""Every setting, by its name in the configuration file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A key or value of a YAML file: its text, how it is written, and whether YAML calls it text.

    What isn't a scalar is the text that it is written as.
    """

    text: str
    source: str
    is_text: bool


def load(
    file: str | Path | None,
    flags: Mapping[str, str | None],
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """The configuration: flags over the YAML file over the environment (NODE_NAME).

    Flags are by the file's keys, None where not given. Raises ConfigError with all mistakes.
    """
    if file == "":
        raise ConfigError("the configuration file's name must not be empty")
    mistakes: list[str] = []
    values = {} if file is None else _file_values(Path(file), mistakes)
    given = {key: value for key, value in flags.items() if value is not None}
    mistakes += [said for key, value in given.items() for said in _mistakes(key, value)]
    if mistakes:
        raise ConfigError("\n  ".join(["the configuration has mistakes:", *mistakes]))
    values |= given
    if values.get("kubeletConfig") == "configz" and "kubeletConfigDir" in values:
        raise ConfigError(
            "kubeletConfigDir belongs to a file: kubeletConfig: configz asks the running kubelet,"
            " which has read it"
        )
    kubeconfig, overrides = values.get("kubeconfig"), values.get("localityOverrides")
    return Config(
        host_root=Path(values.get("hostRoot", "/")),
        live_root=Path(values.get("liveRoot", "/")),
        node_name=values.get("nodeName") or environment.get("NODE_NAME") or None,
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        nvml=values.get("nvml", "auto"),
        locality_overrides=Path(overrides) if overrides else None,
        kubelet_config=values.get("kubeletConfig", "auto"),
        kubelet_config_dir=values.get("kubeletConfigDir"),
        podresources=values.get("podresources", "auto"),
        scheduler=_chosen(values, "scheduler"),
        topology_policy=_chosen(values, "topologyPolicy"),
        topology_scope=_chosen(values, "topologyScope"),
        pod_fingerprint=_chosen(values, "podFingerprint"),
        pod_fingerprint_pods=_chosen(values, "podFingerprintPods"),
        memory_zones=_chosen(values, "memoryZones") == "on",
        takeover=_chosen(values, "takeover") == "on",
        metrics=values.get("metrics", "off"),
        mems=_chosen(values, "mems"),
        shared_pods=_chosen(values, "sharedPods") == "bind",
        lift_quota=_chosen(values, "cpuQuota") == "lift",
        trusted_managers=tuple(
            name.strip() for name in values.get("trustedManagers", "").split(",") if name.strip()
        ),
    )


def _chosen(values: Mapping[str, str], key: str) -> str:
    return values.get(key, _CHOICES[key][0])


def read_overrides(file: Path | None) -> Overrides:
    """The operator's locality overrides. Raises ConfigError when the file itself isn't usable."""
    if file is None:
        return Overrides()
    # As text, since YAML takes an address without quotes for a number in base 60.
    entries = _yaml_entries(file, "addresses and nodes, such as 0000:3b:00.0: 1")
    return parse_overrides((key.text, value.text) for key, value in entries)


def _file_values(file: Path, mistakes: list[str]) -> dict[str, str]:
    """The file's settings by key; what can't be one is added to the mistakes."""
    values: dict[str, str] = {}
    seen: set[str] = set()
    for key, value in _yaml_entries(file, _EXPECTED):
        if key.text not in KEYS or not key.is_text:
            mistakes.append(f"{file}: unknown key {key.source} (known: {', '.join(KEYS)})")
            continue
        if key.text in seen:
            mistakes.append(f"{file}: {key.text} is given more than once")
        seen.add(key.text)
        # YAML takes `off` and `on` for truth values; here they are words.
        if not value.text or not (value.is_text or value.text in _words(key.text)):
            mistakes.append(f"{file}: {key.text} must be text, not {value.source or 'nothing'}")
        else:
            mistakes += [f"{file}: {said}" for said in _mistakes(key.text, value.text)]
            values[key.text] = value.text
    return values


def _mistakes(key: str, value: str) -> Iterator[str]:
    """What keeps a text from being the key's value, by the key's name."""
    if not value:
        yield f"{key} must not be empty"
    elif "\0" in value:
        yield f"{key} must not hold a NUL byte: {value!r}"
    elif not _can_name_a_file(value):
        yield f"{key} holds what no file name can: {value!r}"
    elif key == "metrics" and value != "off" and _ADDRESS.fullmatch(value) is None:
        example = "an address and a port, such as 127.0.0.1:9316"
        yield f"metrics must be off or {example}, not {value!r}"
    elif key in _CHOICES and value not in _CHOICES[key]:
        yield f"{key} must be {_either(_CHOICES[key])}, not {value!r}"
    elif key in _WORDS_OR_PATH and value not in _words(key) and not value.startswith("/"):
        words, path = _WORDS_OR_PATH[key]
        yield f"{key} must be {_either((*words, path))}, not {value!r}"


def _words(key: str) -> tuple[str, ...]:
    """The words that a key may have as its value; none for one that takes any text."""
    if key == "metrics":
        return ("off",)
    return _CHOICES.get(key, _WORDS_OR_PATH.get(key, ((), ""))[0])


def _either(choices: tuple[str, ...]) -> str:
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def _can_name_a_file(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _yaml_entries(file: Path, expected: str) -> list[tuple[_Written, _Written]]:
    """The keys and values of a file in its order, those that are there twice too.

    Nothing is converted, so that no entry costs another and each can be named as it is written.
    """
    import yaml

    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"configuration {file}: {error}") from error
    try:
        document = yaml.compose(content, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"configuration {file} isn't YAML: {error}") from error
    if document is None or document.tag == "tag:yaml.org,2002:null":
        return []
    if not isinstance(document, yaml.MappingNode):
        raise ConfigError(f"configuration {file}: expected {expected}")
    return [(_written(key, content), _written(value, content)) for key, value in document.value]


def _written(node: "yaml.Node", content: str) -> _Written:
    source = content[node.start_mark.index : node.end_mark.index].strip()
    text = node.value if isinstance(node.value, str) else source
    return _Written(text=text, source=source, is_text=node.tag == "tag:yaml.org,2002:str")
