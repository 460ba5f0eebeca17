"""Panels on what is published and from which sources, and on what the agent costs."""

from tools.monitoring.panels.binding import RATE
from tools.monitoring.panels.panel import graph, table

PUBLISHING = (
    graph(
        "Age of publications",
        "Seconds since the server was last seen to hold what was wanted.",
        {"{{node}} {{kind}}": "numa_agent_publish_age_seconds{$SEL}"},
        unit="s",
    ),
    graph(
        "Publications by outcome",
        "Tries to publish; `created` and `changed` are writes.",
        {
            "{{kind}} {{outcome}}": (
                f"sum by (kind, outcome) (rate(numa_agent_publications_total{{$SEL}}{RATE}))"
            )
        },
        unit="ops",
    ),
    graph(
        "Age of sources",
        "The age of each source's last good value.",
        {"{{source}}": "max by (source) (numa_agent_source_age_seconds{$SEL})"},
        unit="s",
    ),
    table(
        "Sources that fail",
        "On which nodes a source failed in the last pass.",
        {"failing": "sum by (node, source) (numa_agent_source_failing{$SEL}) > 0"},
    ),
    graph(
        "Errors of sources",
        "Passes in which a source failed.",
        {"{{source}}": (f"sum by (source) (rate(numa_agent_source_errors_total{{$SEL}}{RATE}))")},
        unit="ops",
        width=12,
    ),
)

AGENT = (
    graph(
        "Pass duration",
        "How long a pass takes: the mean, and what 99 of 100 stay below.",
        {
            "mean": (
                f"sum(rate(numa_agent_pass_duration_seconds_sum{{$SEL}}{RATE}))"
                f" / sum(rate(numa_agent_pass_duration_seconds_count{{$SEL}}{RATE}))"
            ),
            "99 %": (
                "histogram_quantile(0.99, sum by (le)"
                f" (rate(numa_agent_pass_duration_seconds_bucket{{$SEL}}{RATE})))"
            ),
        },
        unit="s",
    ),
    graph(
        "Passes by outcome",
        "good: all that was wanted is so; faulty: something isn't; failed: there was no map.",
        {"{{outcome}}": f"sum by (outcome) (rate(numa_agent_passes_total{{$SEL}}{RATE}))"},
        unit="ops",
    ),
    graph(
        "Since the last pass",
        "How old the last report is.",
        {"{{node}}": "time() - numa_agent_last_pass_timestamp_seconds{$SEL}"},
        unit="s",
    ),
    graph(
        "Memory",
        "The agent's RSS.",
        {"{{node}}": "process_resident_memory_bytes{$TARGET,$SEL}"},
        unit="bytes",
    ),
    graph(
        "CPU",
        "In CPUs: 0.01 is 1 % of one.",
        {"{{node}}": f"rate(process_cpu_seconds_total{{$TARGET,$SEL}}{RATE})"},
    ),
    graph(
        "Threads and files",
        "Python threads and open file descriptors.",
        {
            "{{node}} threads": "numa_agent_threads{$SEL}",
            "{{node}} files": "process_open_fds{$TARGET,$SEL}",
        },
    ),
    table(
        "Agents",
        "Which version runs where, and in whose language it publishes.",
        {"agents": "sum by (node, version, python, scheduler) (numa_agent_build_info{$SEL})"},
    ),
    graph(
        "Answers",
        "Requests to the agents' pages by path and HTTP status.",
        {
            "{{path}} {{code}}": (
                f"sum by (path, code) (rate(numa_agent_http_requests_total{{$SEL}}{RATE}))"
            )
        },
        unit="reqps",
        width=12,
    ),
)
