"""The certificate that is served, read anew when its files change.

A Secret that is mounted swaps both files at once by a link; other writers change one after the
other, so that for a moment the two don't belong together. The pair from before is served until
the new one can be used.
"""

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

from numa_agent.core.errors import SourceError

LOOK_SECONDS = 1.0
"""The least time between two looks at the files."""

_Identity = tuple[tuple[int, int, int, int], ...]


class Certificates:
    """Gives the TLS context of the moment."""

    def __init__(
        self, certificate: Path, key: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read both files, in PEM. Raises SourceError where they can't be used."""
        self.trouble: str | None = None
        """Why the files, as they are now, can't be used; None where they are."""
        self._paths = (certificate, key)
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._seen = self._identity()
            self._context = self._read()
        except (OSError, ValueError) as error:
            raise SourceError(
                f"{self._cannot(error)}; give a PEM certificate and its key"
            ) from error
        self._looked = clock()

    def context(self) -> ssl.SSLContext:
        """What to answer a connection with."""
        with self._lock:
            now = self._clock()
            if now - self._looked >= LOOK_SECONDS:
                self._looked = now
                self._look()
            return self._context

    def _look(self) -> None:
        try:
            seen = self._identity()
            if seen != self._seen:
                self._context = self._read()
                self._seen = seen
        except (OSError, ValueError) as error:
            self.trouble = f"{self._cannot(error)}; the certificate from before is served"
        else:
            self.trouble = None

    def _identity(self) -> _Identity:
        found = [path.stat() for path in self._paths]
        return tuple((each.st_dev, each.st_ino, each.st_mtime_ns, each.st_size) for each in found)

    def _read(self) -> ssl.SSLContext:
        certificate, key = self._paths
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # With a password given, an encrypted key is an error and not a question on the terminal.
        context.load_cert_chain(certificate, key, password="-")  # noqa: S106
        return context

    def _cannot(self, error: Exception) -> str:
        certificate, key = self._paths
        return f"can't use the TLS certificate {certificate} with the key {key}: {error}"
