"""Where a machine keeps its facts, and what the operator may set."""

from numa_agent.config.loading import load, read_overrides
from numa_agent.config.model import Config, ConfigError
from numa_agent.config.places import (
    BOOT_ID,
    CGROUP_DIR,
    CPU_DIR,
    CPUINFO,
    HUGEPAGES_DIR,
    KUBELET_DIR,
    LOCK_FILE,
    MEMINFO,
    NODE_DIR,
    NVIDIA_GPUS_DIR,
    OWN_MAPS,
    OWN_PROC,
    PCI_DIR,
    PMU_DIR,
    PODRESOURCES_SOCKET,
    RECORDED_ANSWERS,
    RECORDED_MARK,
)
from numa_agent.config.settings import KEYS, SCHEDULERS

__all__ = [
    "BOOT_ID",
    "CGROUP_DIR",
    "CPUINFO",
    "CPU_DIR",
    "HUGEPAGES_DIR",
    "KEYS",
    "KUBELET_DIR",
    "LOCK_FILE",
    "MEMINFO",
    "NODE_DIR",
    "NVIDIA_GPUS_DIR",
    "OWN_MAPS",
    "OWN_PROC",
    "PCI_DIR",
    "PMU_DIR",
    "PODRESOURCES_SOCKET",
    "RECORDED_ANSWERS",
    "RECORDED_MARK",
    "SCHEDULERS",
    "Config",
    "ConfigError",
    "load",
    "read_overrides",
]
