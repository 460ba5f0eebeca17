"""A device plugin that stays registered: it serves, registers, and does both anew when needed.

kubelet empties its folder of device plugins when it starts, ours included, and knows nobody then:
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#handling-kubelet-restarts
"""

import hashlib
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

from numa_agent.core.backoff import doubled
from numa_agent.core.errors import SourceError
from numa_agent.host.deviceplugin import api_pb2
from numa_agent.host.deviceplugin.methods import Methods
from numa_agent.host.deviceplugin.server import Identity, Server, identity
from numa_agent.host.deviceplugin.service import OPTIONS
from numa_agent.host.podresources.answer import BrokenError, StatusError, TooLargeError
from numa_agent.host.podresources.unary import Connection

KUBELET_SOCKET = "kubelet.sock"
VERSION = "v1beta1"

LOOK_SECONDS = 1.0
"""Between two looks at the sockets: three system calls, and no inotify instance is needed."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_DEADLINE_SECONDS = 10.0
_UNFOLLOWED_SECONDS = 15.0
"""kubelet connects while it registers a plugin; one that lets go has forgotten it."""

_LONGEST_NAME = 64
"""Of the socket: a unix socket's path has 107 characters at most, kubelet's folder included."""

_REGISTER = f"/{api_pb2.DESCRIPTOR.services_by_name['Registration'].full_name}/Register"
_MOST_BYTES = 64 * 1024


class DevicePlugin:
    """Serves a resource's cards and keeps kubelet knowing of it; `step` is called again and again.

    `trouble` is why kubelet doesn't know it now, and what to do; None while all is well.
    """

    def __init__(
        self,
        folder: Path,
        resource: str,
        methods: Methods,
        *,
        may: Callable[[], str | None],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Take kubelet's folder of device plugins and what is served.

        `may` is asked before each registration, and says why it must not be, or raises SourceError
        where that can't be told now. `say` hears of each change.
        """
        self.trouble: str | None = None
        self._folder = folder
        self._resource = resource
        self._methods = methods
        self._may = may
        self._say = say
        self._clock = clock
        self._chance = chance
        self._server: Server | None = None
        self._known_to: Identity | None = None
        self._failures = 0
        self._not_before = 0.0
        self._followed_at = 0.0
        self._closed = False

    @property
    def registered(self) -> bool:
        """Whether the kubelet that is there took the registration."""
        return self._known_to is not None

    @property
    def followed(self) -> bool:
        """Whether somebody follows the cards now, as kubelet does."""
        return self._server is not None and self._server.followed

    def step(self) -> float:
        """Do what is to be done now; in how many seconds to come again."""
        try:
            self._step()
        except SourceError as error:
            self._fail(str(error))
        return LOOK_SECONDS

    def wake(self) -> None:
        """Tell kubelet what is new of the cards."""
        if self._server is not None:
            self._server.wake()

    def close(self) -> None:
        """End serving; kubelet then takes the cards for unhealthy until somebody registers."""
        self._closed = True
        if self._server is not None:
            self._server.close()
            self._server = None

    def _step(self) -> None:
        now = self._clock()
        kubelet = identity(self._folder / KUBELET_SOCKET)
        self._forget_if_gone(kubelet, now)
        if self._known_to is not None or now < self._not_before:
            return
        if kubelet is None:
            raise SourceError(
                f"{self._folder / KUBELET_SOCKET}: not there; is kubelet running, and is its"
                " folder mounted? The cards are offered as soon as it is"
            )
        refusal = self._may()
        if refusal is not None:
            raise SourceError(refusal)
        if self._closed:
            # While that was asked.
            return
        if self._server is None:
            self._server = Server(self._folder / socket_name(self._resource), self._methods)
            if self._closed:
                self._server.close()
                return
        _register(self._folder, self._resource)
        self._known_to, self._followed_at = kubelet, self._clock()
        self._failures, self.trouble = 0, None
        self._say(f"kubelet knows the cards as {self._resource}")

    def _forget_if_gone(self, kubelet: Identity | None, now: float) -> None:
        """Take in that kubelet or our socket isn't the one that it was."""
        if self._server is not None and not self._server.there:
            self._server.close()
            self._server = self._known_to = None
        if self._known_to is not None and kubelet != self._known_to:
            self._known_to = None
            self._not_before = 0.0
        if self.followed:
            self._followed_at = now
        elif self._known_to is not None and now - self._followed_at > _UNFOLLOWED_SECONDS:
            self._known_to = None
            self._say("kubelet has let go of the cards; they are registered again")

    def _fail(self, sentence: str) -> None:
        """Try again later, longer after each failure."""
        self._failures += 1
        pause = doubled(_FIRST_PAUSE, _LONGEST_PAUSE, self._failures, self._chance())
        self._not_before = self._clock() + pause
        if sentence != self.trouble:
            self._say(f"kubelet doesn't know the cards: {sentence}")
        self.trouble = sentence


def socket_name(resource: str) -> str:
    """The name of the socket in kubelet's folder; a long one ends in what tells it from others."""
    name = f"numa-agent-{re.sub('[^A-Za-z0-9.-]', '_', resource)}"
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(resource.encode()).hexdigest()[:16]
        name = f"{name[: _LONGEST_NAME - len(digest) - 1]}-{digest}"
    return f"{name}.sock"


def _register(folder: Path, resource: str) -> None:
    """Tell kubelet where the cards are served. Raises SourceError."""
    path = folder / KUBELET_SOCKET
    request = api_pb2.RegisterRequest(
        version=VERSION,
        endpoint=socket_name(resource),
        resource_name=resource,
        options=OPTIONS,
    )
    deadline = time.monotonic() + _DEADLINE_SECONDS
    try:
        with Connection(path, deadline=deadline, limit=_MOST_BYTES) as connection:
            connection.call(_REGISTER, request.SerializeToString())
    except StatusError as error:
        raise SourceError(f"{path}: kubelet refuses {resource}: {error}") from error
    except (OSError, BrokenError, TooLargeError) as error:
        raise SourceError(f"{path}: {error}; is it kubelet that listens there?") from error
