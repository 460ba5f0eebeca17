"""How many more pods of a shape find room on one NUMA node each, and what is lost to fragments."""

from numa_agent.core.shape import MOST_SHAPES as MOST_SHAPES
from numa_agent.core.shape import Shape as Shape
from numa_agent.core.shape import parse_shape as parse_shape
from numa_agent.core.slots.counting import count as count
from numa_agent.core.slots.gpus import GpuRoom as GpuRoom
from numa_agent.core.slots.gpus import gpu_resource as gpu_resource
from numa_agent.core.slots.gpus import gpu_room as gpu_room
from numa_agent.core.slots.saying import slots_json as slots_json
from numa_agent.core.slots.shapes import Origin as Origin
from numa_agent.core.slots.shapes import Shapes as Shapes
from numa_agent.core.slots.shapes import shapes_of as shapes_of
from numa_agent.core.slots.standing import NO_SLOTS as NO_SLOTS
from numa_agent.core.slots.standing import SlotsNow as SlotsNow
from numa_agent.core.slots.standing import slots_now as slots_now
from numa_agent.core.slots.values import NodeSlots as NodeSlots
from numa_agent.core.slots.values import ShapeSlots as ShapeSlots
