"""The story of one pod: asked, decided, published, written, in force, measured, and what to do.

Pure: what a pass read and found comes in as a Case, and goes out as a Story.
"""

from numa_agent.core.explaining.chapters import tell as tell
from numa_agent.core.explaining.fit import Room as Room
from numa_agent.core.explaining.fit import placing as placing
from numa_agent.core.explaining.fit import waiting as waiting
from numa_agent.core.explaining.rooms import own_rooms as own_rooms
from numa_agent.core.explaining.rooms import published_rooms as published_rooms
from numa_agent.core.explaining.story import Case as Case
from numa_agent.core.explaining.story import Chapter as Chapter
from numa_agent.core.explaining.story import Story as Story
from numa_agent.core.explaining.story import Todo as Todo
