"""Where a machine keeps its facts, and what the operator may set.

This is the only module that spells the paths of a machine; all are relative to the host root.
"""

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
