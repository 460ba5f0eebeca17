"""Alerts on what the scheduler is told, and on the sources that this comes from."""

from tools.monitoring.alerts.alert import Alert

_GOOD = '{outcome=~"created|changed|unchanged"}'
_BAD = '{outcome!~"created|changed|unchanged|stood-back"}'

TELLING = (
    Alert(
        name="NumaAgentPublicationStale",
        expr="numa_agent_publish_age_seconds > $OVERDUE",
        hold="5m",
        summary="The scheduler's {{ $labels.kind }} of $NODE is old",
        description=(
            "For {{ $value | humanizeDuration }} the API server wasn't seen to hold what this node"
            " has. The scheduler places pods by what it held before."
        ),
    ),
    Alert(
        name="NumaAgentPublishFailing",
        expr=f"""\
increase(numa_agent_publications_total{_BAD}[15m]) > 0
  unless ignoring (outcome)
    sum without (outcome) (increase(numa_agent_publications_total{_GOOD}[15m])) > 0""",
        hold="5m",
        summary="numa-agent on $NODE can't publish: {{ $labels.outcome }}",
        description=(
            "For 15 minutes no try to publish the node's {{ $labels.kind }} has come through."
            " docs/publishing.md says what to do about each outcome."
        ),
    ),
    Alert(
        name="NumaAgentSecondPublisher",
        expr='numa_agent_conditions{code="second-publisher"} > 0',
        hold="5m",
        summary="Somebody else publishes the topology of $NODE",
        description=(
            "Another agent owns fields of the object, so numa-agent stands back and writes nothing"
            " to it. The Event SecondPublisher on the Node names it."
        ),
    ),
    Alert(
        name="NumaAgentSourceFailing",
        expr="numa_agent_source_failing == 1",
        hold="10m",
        summary="numa-agent on $NODE can't read {{ $labels.source }}",
        description=(
            "The source fails in every pass, and its last good answer stands in; where there was"
            " none, nothing is published. /readyz has the error."
        ),
    ),
    Alert(
        name="NumaAgentSourceOld",
        expr="numa_agent_source_age_seconds > $OVERDUE",
        hold="5m",
        summary="{{ $labels.source }} of $NODE is {{ $value | humanizeDuration }} old",
        description=(
            "What is bound and published follows an old answer. Either the source fails"
            " (NumaAgentSourceFailing) or no pass is taken (NumaAgentPassesOverdue)."
        ),
    ),
    Alert(
        name="NumaAgentPodsLeftOut",
        expr="numa_agent_pods_left_out > 0",
        hold="15m",
        summary="{{ $value }} pods or containers on $NODE can't be understood",
        description=(
            "What the API server says of them can't be used, so they are left alone. The Event"
            " PodUnreadable names each and the member that is odd."
        ),
    ),
)
