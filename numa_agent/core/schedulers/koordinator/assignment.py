"""Koordinator's language: the CPU set that koord-scheduler writes on a pod before it binds it.

https://koordinator.sh/docs/user-manuals/fine-grained-cpu-orchestration
"""

import json
from collections.abc import Mapping

from numa_agent.core import cpulist
from numa_agent.core.assignment import Assignment, AssignmentError

RESOURCE_STATUS = "scheduling.koordinator.sh/resource-status"


def assignment(annotations: Mapping[str, str]) -> Assignment | None:
    """The CPU set of `resource-status`, e.g. `{"cpuset": "2-3"}`, None where there is none.

    Raises AssignmentError when the annotation isn't an object with a CPU list.
    """
    value = annotations.get(RESOURCE_STATUS)
    if value is None:
        return None
    try:
        status = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise AssignmentError(f"{RESOURCE_STATUS} {_shown(value)}: {error}") from error
    if not isinstance(status, dict):
        raise AssignmentError(f"{RESOURCE_STATUS} {_shown(value)} isn't a JSON object")
    cpuset = status.get("cpuset", "")
    if not isinstance(cpuset, str):
        raise AssignmentError(f"{RESOURCE_STATUS} {_shown(value)}: cpuset isn't a string")
    try:
        cpus = cpulist.parse(cpuset)
    except cpulist.CpuListError as error:
        raise AssignmentError(f"{RESOURCE_STATUS} {_shown(value)}: {error}") from error
    return Assignment(cpus=cpus, source=RESOURCE_STATUS) if cpus else None


def _shown(value: str) -> str:
    return repr(value if len(value) <= 200 else value[:197] + "...")
