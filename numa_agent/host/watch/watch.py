"""One inotify instance for all directories that the agent follows, and the wait for its events."""

import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from numa_agent.core.errors import SourceError
from numa_agent.host.watch.directories import Directories
from numa_agent.host.watch.events import Event, Followed, Role
from numa_agent.host.watch.instance import Instance, Raw, open_instance


class Watch:
    """Follows directories and tells what happens in them.

    Any thread may follow and forget; one at a time waits in `events`. What can't be followed or
    read is never an exception: `degraded` says why, and what the owner has to do instead.
    """

    def __init__(self, open_instance: Callable[[], Instance] = open_instance) -> None:
        """Take what opens an inotify instance; it is asked again as long as it fails.

        Raises SourceError where the process may open no more files.
        """
        self._open = open_instance
        self._directories = Directories(self._opened)
        self._pending: list[Event] = []
        self._closed = False
        self._state = threading.Lock()
        self._reading = threading.Lock()
        try:
            self._epoll = select.epoll()
            # Wakes the thread that waits, for what `follow` found and for `close`.
            self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._epoll.register(self._bell, select.EPOLLIN)
        except OSError as error:
            raise SourceError(
                f"nothing can be waited for: {error.strerror}; raise the limit of open files"
            ) from error

    @property
    def degraded(self) -> str | None:
        """Why some directories aren't followed, and that they are to be listed; None if all are.

        It ends when they are followed: ask for them again, say at every pass.
        """
        with self._state:
            return self._directories.refusals.sentence

    @property
    def followed(self) -> frozenset[Path]:
        """The directories that have a watch."""
        with self._state:
            return self._directories.paths

    @property
    def closed(self) -> bool:
        """Whether it was closed, so that no events come any more."""
        return self._closed

    def fileno(self) -> int:
        """The descriptor that is readable while `events` has something to do."""
        return self._epoll.fileno()

    def follow(self, path: Path, role: Role) -> Followed:
        """Tell from now on what happens in a directory, and its present children as CREATED.

        To ask again for one that is followed costs one system call; it finds one that was replaced
        or has gone, which the kernel doesn't tell of a cgroup whose parent isn't followed. Read
        files after it, not before: then no write is missed. A directory that has two paths is
        followed under the one given last.
        """
        with self._state:
            if self._closed:
                return Followed.REFUSED
            outcome, children = self._directories.follow(path, role)
            self._pending += children
            if self._pending:
                os.eventfd_write(self._bell, 1)
            return outcome

    def forget(self, path: Path) -> None:
        """Tell nothing more about a directory; those below it are followed on."""
        with self._state:
            self._directories.forget(path)

    def events(self, timeout: float | None = None) -> list[Event]:
        """What happened, oldest first; waits for the first event up to `timeout` seconds.

        Empty after the timeout or `close`. Each event is told once or more: a child that is made
        while its parent's watch begins may be told twice. Whoever keeps the children told, and
        drops what is below at GONE and OVERFLOW, ends with what is there.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._reading:
            while not self._closed:
                if found := self._take():
                    return found
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._epoll.poll(left)
        return []

    def close(self) -> None:
        """End all watches; a thread that waits in `events` comes back with nothing."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            os.eventfd_write(self._bell, 1)
        with self._reading, self._state:
            self._directories.close()
            self._epoll.close()
            os.close(self._bell)

    def _opened(self) -> Instance:
        instance = self._open()
        try:
            self._epoll.register(instance.fileno(), select.EPOLLIN)
        except OSError:
            instance.close()
            raise
        return instance

    def _take(self) -> list[Event]:
        raw, failure = self._read()
        with self._state:
            found, self._pending = self._pending, []
            if found and not self._closed:
                os.eventfd_read(self._bell)
            # After the listings, which saw more: what went away since then has to come last.
            found += self._directories.told(raw)
            if failure is not None:
                found += self._directories.lost(failure)
            return found

    def _read(self) -> tuple[list[Raw], OSError | None]:
        with self._state:
            instance = self._directories.instance
        try:
            return ([] if instance is None else list(instance.read(0))), None
        except OSError as error:
            return [], error
