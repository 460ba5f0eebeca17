"""`numa-agent plan`: every write that a pass would make in cgroups, with its reason."""

import argparse
import json
import sys

from numa_agent.cli import options
from numa_agent.cli.report_text import table
from numa_agent.core.cpulist import render
from numa_agent.core.cpusets import Step
from numa_agent.core.view import Json
from numa_agent.wiring.plans import Plan, plan_once

DESCRIPTION = """\
Print every write that a pass would make in cgroups, in its order and with its reason, which pods'
assignments are refused and which pods are left alone, and why. Nothing is written."""

EPILOG = """\
examples:
  numa-agent plan --node-name gpu-7
  numa-agent plan --host-root fixtures/sysfs/two-socket-8gpu
  numa-agent plan --host-root fixtures/sysfs/two-socket-8gpu -o json

An empty FROM is a cgroup that has all of its parent's. The JSON is a stable contract:
docs/binding.md. Exit code 1 when a source failed or an assignment is refused."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the plan's options."""
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    settings = options.settings(
        arguments, nodeName=arguments.node_name, kubeconfig=arguments.kubeconfig
    )
    plan = plan_once(settings)
    for failure in plan.failures:
        print(f"numa-agent plan: failed: {failure}", file=sys.stderr)
    if arguments.output == "json":
        json.dump(_json(plan), sys.stdout, indent=2)
        print()
    else:
        _print(plan)
    refused = plan.planned is not None and plan.planned.desired.refusals
    return 1 if plan.failures or plan.planned is None or refused else 0


def _steps(plan: Plan) -> list[Step]:
    return [] if plan.planned is None else [step for _, own in plan.planned.steps for step in own]


def _json(plan: Plan) -> Json:
    wanted = None if plan.planned is None else plan.planned.desired
    return {
        "format": "numa-agent.plan/v1",
        "steps": [
            {
                "path": step.path,
                "file": step.file,
                "from": render(step.before),
                "to": render(step.after),
                "pod": step.pod,
                "container": step.container,
                "reason": step.reason,
            }
            for step in _steps(plan)
        ],
        "refused": [
            {"pod": each.pod.full_name, "reason": each.code, "message": each.message}
            for each in (wanted.refusals if wanted else ())
        ],
        "left_alone": [
            {"pod": each.pod.full_name, "reason": each.code, "message": each.message}
            for each in (wanted.left_alone if wanted else ())
        ],
        "conditions": [
            {"code": each.code, "subject": each.subject, "message": each.message}
            for each in (wanted.conditions if wanted else ())
        ],
        "failures": list(plan.failures),
    }


def _print(plan: Plan) -> None:
    if plan.planned is None:
        print("nothing can be planned: the pods or kubelet's CPUs are unknown")
        return
    steps = _steps(plan)
    if not steps:
        print("nothing is to be written: every cgroup is as it should be")
    else:
        rows = [("POD", "FILE", "FROM", "TO", "WHY")]
        rows += [
            (step.pod, step.file, render(step.before), render(step.after), step.reason)
            for step in steps
        ]
        print("\n".join(table(rows)))
        print("\nin")
        print("\n".join(dict.fromkeys(f"  {step.path}" for step in steps)))
    wanted = plan.planned.desired
    for refusal in wanted.refusals:
        print(f"refused: pod {refusal.pod.full_name}: {refusal.message}")
    for alone in wanted.left_alone:
        print(f"left alone: pod {alone.pod.full_name}: {alone.message}")
    for condition in wanted.conditions:
        print(f"note: {condition.message}")
