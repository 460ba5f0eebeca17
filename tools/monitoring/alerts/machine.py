"""Alerts on the machine: what isn't known of it, and what is broken."""

from tools.monitoring.alerts.alert import Alert

MACHINE = (
    Alert(
        name="NumaAgentGpuPlaceUnknown",
        expr='sum without (health) (numa_agent_gpus{numa_node="unknown"}) > 0',
        hold="30m",
        summary="The NUMA node of {{ $value }} GPUs of $NODE isn't known",
        description=(
            "No source tells where they are, so no CPUs can be chosen beside them. Usual in"
            " virtual machines; `localityOverrides` tells the agent what you know."
        ),
    ),
    Alert(
        name="NumaAgentGpuUnhealthy",
        expr='sum without (numa_node) (numa_agent_gpus{health=~"lost|reset-required"}) > 0',
        hold="5m",
        summary="{{ $value }} GPUs of $NODE are {{ $labels.health }}",
        description=(
            "NVML says that they fell off the bus or need a reset. What is published counts them"
            " as unhealthy."
        ),
    ),
    Alert(
        name="NumaAgentResourceUnplaced",
        expr="numa_agent_extended_resource_unplaced == 1",
        hold="30m",
        summary="{{ $labels.resource }} of $NODE is in no NUMA zone",
        description=(
            "The NUMA node of one of its units isn't known, or there are fewer units than the Node"
            " offers, so that it is left out of all zones and the scheduler aligns nothing to it."
        ),
    ),
)
