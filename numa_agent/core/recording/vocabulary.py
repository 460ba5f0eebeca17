"""Words that the whole world uses, and that are therefore nobody's own.

A word that isn't here costs a pseudonym; a word that is a company's own must not be here.
"""

DOMAINS = {
    *("nvidia.com", "amd.com", "intel.com", "gpu.intel.com", "habana.ai", "huawei.com"),
    *("aliyun.com", "koordinator.sh", "kubernetes.io", "mellanox.com", "nec.com", "xilinx.com"),
}
"""Whose resources and drivers are known in public."""

NATIVE = {"cpu", "memory", "pods", "pid", "ephemeral-storage"}
"""Resources without a domain."""

PRODUCTS = {
    *("NVIDIA", "Tesla", "Quadro", "GeForce", "RTX", "Ada", "Generation", "PCIe", "PCI", "MIG"),
    *("HBM", "NVL", "Intel", "R", "TM", "Xeon", "Core", "Gold", "Silver", "Bronze", "Platinum"),
    *("AMD", "EPYC", "Ryzen", "Opteron", "Threadripper", "PRO", "CPU", "Processor", "POWER"),
    *("altivec", "supported", "Genuine", "GenuineIntel", "AuthenticAMD", "HygonGenuine"),
    *("Example", "Neoverse", "Ampere", "Altra", "Max", "QEMU", "Virtual", "version", "Super"),
    *("gpu", "shared", "mig", "vgpu", "mem", "core", "percentage", "memory", "batch", "mid"),
    *("cpu", "gaudi", "Ascend", "i915", "xe", "rdma", "me", "Blackwell", "Server", "Edition"),
    *("Grace", "Hopper", "Radeon", "Instinct", "Graphics", "Cascadelake", "Skylake", "Icelake"),
}
"""Of the names of GPUs, CPUs and their parts."""

DRIVERS = {
    *("nvidia", "nouveau", "amdgpu", "i915", "xe", "habanalabs", "devdrv_device_driver", "ve_drv"),
    *("nvidia-nvswitch", "intel_vpu", "vfio-pci", "pci-stub", "nvgrace_gpu_vfio_pci", "pcieport"),
    *("mlx4_core", "mlx5_core", "bnxt_en", "ice", "i40e", "ixgbe", "igb", "e1000e", "tg3", "ena"),
    *("efa", "gve", "mana", "hinic", "hns3", "qede", "hfi1", "irdma", "cxgb4", "be2net", "r8169"),
    *("virtio-pci", "virtio_net", "nvme", "ast", "mgag200", "cxl_pci", "4xxx", "snd_hda_intel"),
}
"""The kernel's and the vendors' drivers; another one's name may be a company's own."""

MANAGERS = {
    *("koord-scheduler", "koord-manager", "kube-scheduler", "kubelet", "kubectl", "kubectl-edit"),
    *("kubectl-annotate", "kubectl-client-side-apply", "kubectl-patch", "kubectl-create"),
    *("numa-agent", "before-first-apply", "ack-scheduler", "kube-controller-manager", "unknown"),
}
CLASSES = {"runc", "crun", "youki", "nvidia", "nvidia-cdi", "nvidia-legacy", "gvisor", "runsc"}
CLASSES |= {"kata", "kata-qemu", "kata-clh", "kata-fc", "kata-containers"}
RUNTIMES = {"containerd", "cri-o", "docker"}
