"""What the operator set, as one value."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config.places import DECISIONS_NAME, LOCK_FILE


class ConfigError(Exception):
    """What the operator set can't be used; the message names each mistake.

    `mistakes` has them one by one, each with the file, line and column where it has such.
    """

    def __init__(self, message: str, mistakes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes) or (message,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the operator set; numa_agent.config.settings says what each field means.

    `host_root` is the machine looked at. `live_root` is where the machine that this process runs
    on is mounted: only there are its API server and drivers asked. `node_name` is None for a
    recorded machine, which knows its own. Of the paths, `kubeconfig`, `locality_overrides`,
    `measured_distances` and those of TLS are this process's own; those of kubelet, podresources
    and the lock, which are text, are the machine's, to be looked for below `host_root`.
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
    measured_distances: Path | None = None
    takeover: bool = False
    mems: str = "with-cpus"
    shared_pods: bool = True
    lift_quota: bool = False
    trusted_managers: tuple[str, ...] = ()
    metrics: str = "off"
    metrics_tls_cert: Path | None = None
    metrics_tls_key: Path | None = None
    metrics_auth: str = "off"
    metrics_containers: bool = False
    events: bool = True
    assigner_annotate: bool = False
    assigner_unplaced: str = "keep"
    assigner_evict_seconds: int = 300
    pass_seconds: int = 60
    verify_seconds: int = 120
    assigner: str = "fallback"
    assigner_grace_seconds: int = 5
    shapes: tuple[str, ...] = ()
    gpu_plugin: bool = False
    gpu_resource: str = "aliyun.com/gpu"
    gpu_pass: str = "env"  # noqa: S105
    lock_file: str = f"/{LOCK_FILE}"
    log_format: str = "text"

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of the metrics, None where they aren't served."""
        if self.metrics == "off":
            return None
        host, _, port = self.metrics.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def lock_path(self) -> Path:
        """The lock where this process finds it: the machine's path, below the host root."""
        return self.host_root / self.lock_file.lstrip("/")

    @property
    def decisions_path(self) -> Path:
        """What this agent decided itself: beside its lock, and gone when the machine boots."""
        return self.lock_path.parent / DECISIONS_NAME

    @property
    def live(self) -> bool:
        """Whether the machine looked at is the one that this process runs on."""
        # Path.resolve raises on a loop of symlinks, which is but a machine that isn't there.
        return os.path.realpath(self.host_root) == os.path.realpath(self.live_root)
