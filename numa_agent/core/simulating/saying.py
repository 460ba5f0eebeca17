"""A simulation for programs."""

from numa_agent.core.cpulist import render
from numa_agent.core.simulating.values import Compared, Placed, Simulation
from numa_agent.core.slots import slots_json
from numa_agent.core.slots.saying import shape_json
from numa_agent.core.view import Json


def simulation_json(found: Simulation) -> Json:
    """The pods in order, the slots before and after, and the comparison where one was made."""
    return {
        "pods": [_placed(each) for each in found.pods],
        "slots_before": slots_json(found.before),
        "slots_after": [shape_json(each) for each in found.after],
        "compared": [_compared(each) for each in found.compared],
        "notes": list(found.notes),
    }


def _placed(placed: Placed) -> Json:
    return {
        "pod": placed.pod.full_name,
        "fate": placed.fate.value,
        "cpus": render(placed.cpus),
        "numa_nodes": sorted(placed.nodes),
        "devices": list(placed.devices),
        "device_numa_nodes": sorted(placed.device_nodes),
        "aligned": placed.beside,
        "code": placed.code,
        "message": placed.why,
    }


def _compared(each: Compared) -> Json:
    return {
        "chosen_by": each.name,
        "placed": each.placed,
        "aligned": each.aligned,
        "slots_left": {str(found.shape): found.total for found in each.slots},
    }
