"""Alerts on the agent itself: whether it runs, passes and costs what it may."""

from tools.monitoring.alerts.alert import Alert

AGENT = (
    Alert(
        name="NumaAgentAbsent",
        expr="absent(up{$TARGET} == 1)",
        hold="10m",
        severity="critical",
        summary="No numa-agent is scraped in the whole cluster",
        description=(
            "Prometheus has no target of numa-agent that answers, so that none of the other alerts"
            " can fire. Pods keep the CPUs that they have; new ones get none of their own."
        ),
    ),
    Alert(
        name="NumaAgentDown",
        expr="up{$TARGET} == 0",
        hold="5m",
        summary="numa-agent on $NODE doesn't answer",
        description=(
            "The agent can't be scraped. While it is away, pods keep the CPUs that they have, new"
            " ones get none, and the scheduler goes by what was published last."
        ),
    ),
    Alert(
        name="NumaAgentRestarting",
        expr="changes(process_start_time_seconds{$TARGET}[1h]) > 3",
        hold="0m",
        summary="numa-agent on $NODE keeps restarting",
        description=(
            "The agent was started {{ $value }} times more within an hour. The end of its log"
            " before says why, or its container was killed for memory."
        ),
    ),
    Alert(
        name="NumaAgentNotReady",
        expr="numa_agent_ready == 0",
        hold="5m",
        summary="numa-agent on $NODE isn't ready",
        description=(
            "No pass since the start has known the pods and kubelet's CPUs, or the changed"
            " configuration can't be used and the one before holds. /readyz and the log say which."
        ),
    ),
    Alert(
        name="NumaAgentPassesFailing",
        expr='increase(numa_agent_passes_total{outcome="failed"}[10m]) > 0',
        hold="10m",
        summary="numa-agent on $NODE can't read the machine",
        description=(
            "Passes end without a map of the machine: nothing is bound or published anew. The log"
            " names the file."
        ),
    ),
    Alert(
        name="NumaAgentPassesOverdue",
        expr="time() - numa_agent_last_pass_timestamp_seconds > $OVERDUE",
        hold="5m",
        summary="numa-agent on $NODE has had no report for {{ $value | humanizeDuration }}",
        description=(
            "The loop stands still, or every pass fails. What the agent shows of the machine is"
            " that old."
        ),
    ),
    Alert(
        name="NumaAgentPassesSlow",
        expr="""\
rate(numa_agent_pass_duration_seconds_sum[15m])
  / rate(numa_agent_pass_duration_seconds_count[15m]) > $SLOW""",
        hold="15m",
        summary="Passes of numa-agent on $NODE take {{ $value | humanizeDuration }}",
        description=(
            "A pass takes milliseconds to some tenths of a second. A longer one waits for kubelet,"
            " the API server, NVML or the kernel."
        ),
    ),
    Alert(
        name="NumaAgentPassIncomplete",
        expr="numa_agent_failures > 0 unless on (job, instance) numa_agent_source_failing == 1",
        hold="15m",
        summary="numa-agent on $NODE fails at {{ $value }} things in each pass",
        description=(
            "Something other than a source fails in every pass, say a cgroup that can't be read."
            " /statusz has the sentences under `failures`."
        ),
    ),
    Alert(
        name="NumaAgentMemoryHigh",
        expr="process_resident_memory_bytes{$TARGET} > 0.8 * $MEMORY",
        hold="15m",
        summary="numa-agent on $NODE uses {{ $value | humanize1024 }}B of memory",
        description=(
            "It is near the limit of its container and will be killed there. Usual are 60 MiB at"
            " most."
        ),
    ),
    Alert(
        name="NumaAgentCertificateReloadFailing",
        expr="numa_agent_tls_reload_failing == 1",
        hold="10m",
        summary="numa-agent on $NODE can't use its new certificate",
        description=(
            "The certificate files changed and can't be used; the pair before is served until it"
            " expires, and then nobody can scrape. /readyz has the reason."
        ),
    ),
)
