"""Slots for programs."""

from numa_agent.core.slots.standing import SlotsNow
from numa_agent.core.slots.values import ShapeSlots
from numa_agent.core.view import Json


def slots_json(now: SlotsNow) -> Json:
    """The slots by shape and NUMA node."""
    return {
        "gpu_resource": now.gpus,
        "shapes_from": now.origin.value,
        "shapes": [shape_json(each) for each in now.shapes],
        "notes": list(now.notes),
    }


def shape_json(found: ShapeSlots) -> Json:
    """The slots of one shape."""
    fragmentation = found.fragmentation
    return {
        "shape": str(found.shape),
        "cpus": found.shape.cpus,
        "gpus": found.shape.gpus,
        "memory_bytes": found.shape.memory,
        "slots": found.total,
        "fits_an_idle_node": found.ever,
        "slots_if_on_one_node": found.together,
        "fragmentation": None if fragmentation is None else round(fragmentation, 4),
        "numa_nodes": [
            {"numa_node": each.node_id, "slots": each.slots, "short_of": each.short}
            for each in found.nodes
        ],
    }
