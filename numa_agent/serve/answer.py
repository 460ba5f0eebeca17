"""One HTTP answer, and its bytes."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

_LEAST_PACKED = 1024
"""Bytes below which gzip costs more than it saves."""

_LEVEL = 4
"""Of gzip: metrics come out at a tenth of their size, and a higher one saves little more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, a body and its type, and what header fields there are besides the usual ones."""

    status: HTTPStatus = HTTPStatus.OK
    kind: str = TEXT
    body: bytes = b""
    fields: tuple[tuple[str, str], ...] = ()

    def packed(self) -> "Answer":
        """The same with its body in gzip, where that is worth it."""
        if len(self.body) < _LEAST_PACKED:
            return self
        return replace(
            self,
            body=gzip.compress(self.body, _LEVEL, mtime=0),
            fields=(*self.fields, ("Content-Encoding", "gzip")),
        )

    def bytes(self, now: float, *, with_body: bool = True) -> bytes:
        """What is sent at this Unix time; the connection ends with it."""
        fields = (
            ("Date", formatdate(now, usegmt=True)),
            ("Content-Type", self.kind),
            ("Content-Length", str(len(self.body))),
            ("Connection", "close"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            *self.fields,
        )
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in fields]
        head = "\r\n".join((*lines, "", "")).encode("latin-1")
        return head + self.body if with_body else head


def lines(status: HTTPStatus, said: Iterable[str], *fields: tuple[str, str]) -> Answer:
    """Sentences, one a line."""
    body = "".join(f"{_one_line(each)}\n" for each in said)
    return Answer(status=status, body=body.encode(errors="replace"), fields=fields)


def document(content: object, *fields: tuple[str, str]) -> Answer:
    """JSON."""
    return Answer(kind=JSON, body=json.dumps(content).encode() + b"\n", fields=fields)


def _one_line(said: str) -> str:
    """A sentence without line breaks and other controls, cut to what a person reads."""
    return "".join(each if each.isprintable() else " " for each in said[:500])
