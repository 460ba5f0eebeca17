"""What differs between clusters in the rules and the dashboard."""

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices that the files in manifests/monitoring/ were made with.

    `job` is a regular expression for the label `job` of the agents' targets: the PodMonitor gives
    `numa-agent/numa-agent`, the ServiceMonitor `numa-agent`. `node_label` is the target's label
    that holds the Kubernetes Node. `runbooks` goes before `/NAME.md`. `pass_seconds` is the
    agents' setting passSeconds, `memory_limit` the container's limit in bytes.
    """

    job: str = "(.+/)?numa-agent"
    node_label: str = "node"
    runbooks: str = "docs/runbooks"
    pass_seconds: int = 60
    slow_pass_seconds: float = 5.0
    memory_limit: int = 128 * MIB

    @property
    def overdue_seconds(self) -> int:
        """The age from which a pass, a source's value or a publication is too old."""
        return max(600, 10 * self.pass_seconds)

    @property
    def target(self) -> str:
        """The selector of metrics that others have as well."""
        return f'job=~"{self.job}"'
