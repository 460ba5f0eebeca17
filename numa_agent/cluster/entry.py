"""What a connection needs to know of a cluster."""

from typing import Protocol

import urllib3

from numa_agent.core.errors import SourceError


class Entry(Protocol):
    """Where an API server is, how to trust it, and who we are to it."""

    @property
    def url(self) -> str:
        """The server's address, without a slash at its end."""

    def pool(self) -> urllib3.PoolManager:
        """Make what opens connections to it."""

    def authorization(self) -> str | None:
        """The header field that signs us in, by a token that is good now; None where none does.

        Raises SourceError where the token can't be read.
        """


def header(value: str, source: str) -> str:
    """A header field's value that can be sent. Raises SourceError, which never shows it.

    What sends it would quote a value that it can't: a token with a line's end in it, say.
    """
    if not all(" " <= each <= "~" for each in value):
        raise SourceError(
            f"{source}: the token can't be sent: it has a character that isn't printable ASCII,"
            " such as a line's end; write the token alone"
        )
    return value
