"""Where a machine keeps its facts, relative to the host root.

This is the only module that spells these places; the names of the files below them are each
reader's own.
"""

CPU_DIR = "sys/devices/system/cpu"
NODE_DIR = "sys/devices/system/node"
PCI_DIR = "sys/bus/pci/devices"
PMU_DIR = "sys/devices"
HUGEPAGES_DIR = "sys/kernel/mm/hugepages"
CPUINFO = "proc/cpuinfo"
MEMINFO = "proc/meminfo"
OWN_PROC = "/proc"
"""Where the kernel tells of this process, wherever the machine looked at is."""
OWN_MAPS = "/proc/self/maps"
"""This process's own mapped files, wherever the machine looked at is."""
BOOT_ID = "proc/sys/kernel/random/boot_id"
NVIDIA_GPUS_DIR = "proc/driver/nvidia/gpus"
CGROUP_DIR = "sys/fs/cgroup"
KUBELET_DIR = "var/lib/kubelet"
PODRESOURCES_SOCKET = f"{KUBELET_DIR}/pod-resources/kubelet.sock"
LOCK_FILE = "run/numa-agent/lock"
"""What the one agent of a node holds; on the node and not in the pod, so that pods share it. Its
folder is the agent's own, so that a pod need mount no more of /run."""
RECORDED_MARK = "recorded.yaml"
RECORDED_ANSWERS = "answers"
