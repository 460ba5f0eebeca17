"""The node's whole cards for kubelet: the map, NVML's events and kubelet's socket put together.

By itself as a command, or beside the daemon's passes, which then bring the map.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from numa_agent.config import DEVICE_PLUGINS_DIR, Config
from numa_agent.core.conditions import Condition
from numa_agent.core.errors import SourceError
from numa_agent.core.gpu_plugin import Health, Wish, Xid, healthy
from numa_agent.core.topology import Topology
from numa_agent.wiring.gpu_offering import Offering, Say
from numa_agent.wiring.lock import TakenError, only_one
from numa_agent.wiring.neighbours import Neighbours

if TYPE_CHECKING:
    from numa_agent.host.deviceplugin import DevicePlugin, NvmlEvents

CHECK_SECONDS = 60.0
"""Between two looks for another plugin that hands out the same cards."""
MAP_SECONDS = 30.0
"""Between two looks at the map, where no daemon takes passes."""
SOON_SECONDS = 2.0
"""The same while the driver is slow, or gone."""
CARDS_SECONDS = 1.0
"""Between two looks whether there are cards at all."""
AGAIN_SECONDS = 1.0
"""Until kubelet has taken in that whoever served these cards before has ended."""
LOCK_SECONDS = 5.0
"""Between two tries for the lock."""

_LOCK = "gpu-plugin.lock"


class GpuPlugin:
    """Offers the cards of the map that it is shown; threads of its own do the rest.

    `wish` may add the pod's CPUs to what kubelet asks for; it is called in the server's thread.
    `wake` is called when the map should be read anew. `say` hears of each change, in any thread.
    """

    def __init__(
        self,
        config: Config,
        say: Say,
        *,
        wish: Callable[[Wish], Wish] = lambda asked: asked,
        wake: Callable[[], None] = lambda: None,
        health: Health | None = None,
    ) -> None:
        """Take the settings; nothing is offered before `see` and `start`."""
        self.offering = Offering(config, say, wish=wish, health=health)
        self._config = config
        self._say = say
        self._wake = wake
        self._neighbours = Neighbours(config)
        self._stack = ExitStack()
        self._over = threading.Event()
        self._check_at = 0.0
        self._untaken: str | None = None
        self._holding = False
        self._plugin: DevicePlugin | None = None
        self._events: NvmlEvents | None = None
        self._thread = threading.Thread(target=self._run, name="gpu-plugin", daemon=True)

    @property
    def look_in(self) -> float:
        """In how many seconds the map should be seen again, where no pass reads it anyway."""
        return SOON_SECONDS if self.offering.mute else MAP_SECONDS

    def see(self, topology: Topology) -> None:
        """Take in the map as it is now."""
        self.offering.see(topology)

    def watched(self, read: Callable[[], Topology]) -> Callable[[], Topology]:
        """The same reading of the map, of which this sees each; the first one starts it."""

        def seen() -> Topology:
            topology = read()
            self.see(topology)
            if self._thread.ident is None:
                self.start()
            return topology

        return seen

    def hold(self) -> None:
        """Take the lock of who offers this node's cards. Raises SourceError."""
        path = self._config.lock_path.with_name(_LOCK)
        try:
            self._stack.enter_context(only_one(path))
        except TakenError as error:
            raise SourceError(
                f"another numa-agent offers this node's cards and holds {path}: end that one, or"
                " set gpuPlugin: off for one of the two"
            ) from error
        self._holding = True

    def refusal(self) -> str | None:
        """Why the cards must not be offered: who else hands them out. Raises SourceError."""
        self._look_around(anew=True)
        return "; ".join(self.offering.rivals) or None

    def start(self) -> None:
        """Serve, register and listen from now on; after the first `see`.

        Without the lock nothing is served, and it is tried for again and again.
        """
        self._thread.start()

    def close(self) -> None:
        """End, within a second."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(0.5)
        if self._plugin is not None:
            self._plugin.close()
        if self._events is not None:
            self._events.close()
        self._stack.close()

    def conditions(self) -> tuple[Condition, ...]:
        """What isn't as it should be, by the card or as a whole."""
        found = [*self.offering.conditions()]
        unknown = self._untaken or (self._plugin and self._plugin.trouble)
        if unknown and not self.offering.rivals:
            message = f"kubelet doesn't know the cards: {unknown}"
            found.append(_condition("gpu-plugin-unregistered", message))
        unheard = self._events and self._events.trouble
        if unheard:
            found.append(_condition("gpu-events-unheard", unheard))
        return tuple(found)

    def _run(self) -> None:
        from numa_agent.host.deviceplugin import DevicePlugin, service

        folder = self._config.host_root / DEVICE_PLUGINS_DIR
        methods = service(self.offering)
        resource = self._config.gpu_resource
        plugin = DevicePlugin(folder, resource, methods, may=self.refusal, say=self._say)
        self._plugin = plugin
        self.offering.changed = plugin.wake
        seconds = 0.0
        while not self._over.wait(seconds):
            seconds = self._turn(plugin)

    def _turn(self, plugin: "DevicePlugin") -> float:
        if not self._may_serve():
            return LOCK_SECONDS
        if not (self.offering.offer().cards or plugin.registered):
            # A node without cards has no resource of none, and needs no driver.
            return CARDS_SECONDS
        if self._events is None and self._config.nvml != "off":
            self._events = self._listening()
        if plugin.registered and time.monotonic() >= self._check_at:
            try:
                self._look_around(anew=False)
            except SourceError:
                # What was known holds until somebody says otherwise.
                self._check_at = time.monotonic() + CHECK_SECONDS
        self.offering.refresh()
        return plugin.step()

    def _may_serve(self) -> bool:
        """Whether the lock is held, or can be had now."""
        if self._holding:
            return True
        try:
            self.hold()
        except SourceError as error:
            if self._untaken is None:
                self._say(str(error))
            self._untaken = str(error)
            return False
        self._untaken = None
        return True

    def _listening(self) -> "NvmlEvents":
        from numa_agent.host.deviceplugin import NvmlEvents

        library = None if self._config.nvml == "auto" else Path(self._config.nvml)
        events = NvmlEvents(library, self._heard, self.offering.advise)
        events.start()
        return events

    def _heard(self, event: Xid) -> None:
        if self.offering.hear(event):
            self._wake()

    def _look_around(self, *, anew: bool) -> None:
        """Ask who else hands out these cards. Raises SourceError where nobody answers."""
        plugin = self._plugin
        served = plugin is not None and (plugin.registered or plugin.followed)
        grants, allocatable = self._neighbours.read(anew=anew)
        if not served and healthy(self._config.gpu_resource, grants):
            self._over.wait(AGAIN_SECONDS)
            grants, allocatable = self._neighbours.read(anew=anew)
        self._check_at = time.monotonic() + CHECK_SECONDS
        self.offering.look_around(grants, allocatable, ours_served=served)


def _condition(code: str, message: str) -> Condition:
    return Condition(code=code, subject="gpu-plugin", message=message)
