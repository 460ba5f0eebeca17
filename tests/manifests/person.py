"""Requests to the API server in somebody else's name, by impersonation.

https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.apiserver.control_plane import ControlPlane
from tests.manifests.objects import Json

SETTLE_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Answer:
    """HTTP status, the object or Status, and what the server warned of."""

    status: int
    content: Json
    warnings: str

    @property
    def said(self) -> str:
        """The message of a Status."""
        return str(self.content.get("message", ""))


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the cluster, who signs in with these headers."""

    plane: ControlPlane
    name: str
    headers: tuple[tuple[str, str], ...]

    def ask(
        self,
        verb: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request and return whatever is answered."""
        address = urlsplit(self.plane.url)
        connection = http.client.HTTPSConnection(
            str(address.hostname),
            address.port,
            timeout=60,
            context=ssl.create_default_context(cafile=self.plane.ca_file),
        )
        with closing(connection):
            connection.putrequest(verb, path)
            for name, value in self.headers:
                connection.putheader(name, value)
            content = b"" if body is None else json.dumps(body).encode()
            connection.putheader("Content-Type", content_type)
            connection.putheader("Content-Length", str(len(content)))
            connection.endheaders(content)
            answer = connection.getresponse()
            text = answer.read().decode()
            warnings = " ".join(answer.headers.get_all("Warning") or [])
            content_kind = answer.headers.get_content_type()
            return Answer(
                answer.status,
                json.loads(text) if content_kind == "application/json" else {"message": text},
                warnings,
            )


def bearer(plane: ControlPlane, name: str, token: str) -> Person:
    """Whoever has the token."""
    return Person(plane, name, (("Authorization", f"Bearer {token}"),))


def user(plane: ControlPlane, name: str, *groups: str) -> Person:
    """A user with these groups, whom the admin impersonates."""
    token = json.loads(plane.kubeconfig.read_text())["users"][0]["user"]["token"]
    all_groups = (*groups, "system:authenticated")
    return Person(
        plane,
        name,
        (
            ("Authorization", f"Bearer {token}"),
            ("Impersonate-User", name),
            *(("Impersonate-Group", group) for group in all_groups),
        ),
    )


def account(plane: ControlPlane, namespace: str, name: str) -> Person:
    """A ServiceAccount as a user, without a token of its own."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return user(plane, f"system:serviceaccount:{namespace}:{name}", *groups)


def settled(what: str, done: Callable[[], bool]) -> None:
    """Wait until something holds: the server takes in rights and policies a moment later."""
    end = time.monotonic() + SETTLE_SECONDS
    while not done():
        assert time.monotonic() < end, f"not so after {SETTLE_SECONDS} s: {what}"
        time.sleep(0.1)
