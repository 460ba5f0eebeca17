"""Where a node keeps its pods' cgroups, by the version of cgroups and kubelet's driver."""

from dataclasses import dataclass
from typing import Any, Literal

Version = Literal["v2", "v1"]
Driver = Literal["cgroupfs", "systemd"]

EVERY_CONTROLLER = """\
mount -t tmpfs tmpfs /new/sys/fs/cgroup
while read -r name _; do
    case $name in "#"*) continue ;; esac
    mkdir "/new/sys/fs/cgroup/$name"
    mount -t cgroup -o "$name" "$name" "/new/sys/fs/cgroup/$name"
done </new/proc/cgroups
"""
"""What init.sh does for a node with cgroup v1: a hierarchy for each controller of the kernel's."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of a node's cgroups with cpusets, as kubelet and containerd name them."""

    version: Version = "v2"
    driver: Driver = "cgroupfs"

    @property
    def root(self) -> str:
        """The folder below which pods have their cgroups."""
        top = "kubepods.slice" if self.driver == "systemd" else "kubepods"
        return f"/sys/fs/cgroup/{'cpuset/' if self.version == 'v1' else ''}{top}"

    @property
    def effective(self) -> tuple[str, str]:
        """The files that say which CPUs and memory nodes are in force."""
        if self.version == "v1":
            return "cpuset.effective_cpus", "cpuset.effective_mems"
        return "cpuset.cpus.effective", "cpuset.mems.effective"

    def pod(self, manifest: Any) -> str:
        """The cgroup of a pod that the API server knows."""
        kind = manifest["status"]["qosClass"].lower()
        levels = [] if kind == "guaranteed" else [kind]
        name = f"pod{node_uid(manifest['metadata'])}"
        if self.driver == "cgroupfs":
            return "/".join([self.root, *levels, name])
        # A slice has the names of those above it in its own, and no other dash.
        whole = ["kubepods", *levels, name.replace("-", "_")]
        slices = ("-".join(whole[: count + 1]) for count in range(1, len(whole)))
        return "/".join([self.root, *(f"{each}.slice" for each in slices)])

    def container(self, manifest: Any, name: str) -> str:
        """The cgroup of one of its containers that runs or ran."""
        status = manifest["status"]
        kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        every = [each for kind in kinds for each in status.get(kind, [])]
        [number] = [
            each["containerID"].partition("://")[2] for each in every if each["name"] == name
        ]
        unit = f"cri-containerd-{number}.scope" if self.driver == "systemd" else number
        return f"{self.pod(manifest)}/{unit}"


def node_uid(metadata: Any) -> str | None:
    """A pod's uid for kubelet: that of a static pod isn't its mirror's in the API server."""
    annotations = metadata.get("annotations", {})
    found: str | None = annotations.get("kubernetes.io/config.hash", metadata.get("uid"))
    return found


LAYOUT = Layout()
