"""What pods may use on this kernel as passes bind them: argument `v2` or `v1`.

The machine has CPUs 0 to 7, and memory in nodes 0 to 2 at least.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, cast

from tests.vm.containers import Hierarchy
from tests.vm.scripts.binding_crash import crash
from tests.vm.scripts.binding_life import Life
from tests.vm.scripts.binding_memory import later, memory
from tests.vm.scripts.node import Node, node


def main() -> None:
    """Print what each scene saw, or how it failed, and the kernel's release."""
    with node(cast("Hierarchy", sys.argv[1])) as here:
        life = Life(here)
        scenes: tuple[Callable[[], Any], ...] = (
            *(life.start, life.restart, life.drift, life.unplug, life.unplug_all),
            *(life.restore, life.end),
            *(_of(memory, here), _of(later, here), _of(crash, here)),
        )
        seen = {scene.__name__: _played(scene) for scene in scenes}
    json.dump({"release": os.uname().release, **seen}, sys.stdout)


def _of(scene: Callable[[Node], Any], here: Node) -> Callable[[], Any]:
    def play() -> Any:
        return scene(here)

    play.__name__ = scene.__name__
    return play


def _played(scene: Callable[[], Any]) -> Any:
    """What a scene saw; one that fails is told, and the next one is tried."""
    began = time.monotonic()
    try:
        seen = scene()
    except Exception:
        seen = {"failed": traceback.format_exc()}
    print(f"{scene.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    return seen


if __name__ == "__main__":
    main()
