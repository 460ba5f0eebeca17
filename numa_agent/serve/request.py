"""One HTTP request, read from the bytes of its head: https://www.rfc-editor.org/rfc/rfc9112.

Nothing but GET and HEAD is answered and every connection is closed after its answer, so that no
body is ever looked at.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

MOST_BYTES = 16 * 1024
"""Of a whole head; a ServiceAccount's token takes 1 to 2 KiB of it."""

MOST_FIELDS = 64
END = b"\r\n\r\n"

_LINE = re.compile(r"([!-~]{1,32}) ([!-~]{1,4096}) HTTP/(\d)\.(\d)", re.ASCII)
_FIELD = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}):[ \t]*(.*?)[ \t]*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


class BadRequest(Exception):  # noqa: N818  # HTTP's own name of it
    """What came isn't a request that is answered; `status` and `fields` are the answer's."""

    def __init__(self, status: HTTPStatus, message: str, *fields: tuple[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.fields = fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A method and a path without its query; the names of header fields are in lower case."""

    method: str
    path: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def wants_body(self) -> bool:
        """Whether the answer's body is asked for."""
        return self.method != "HEAD"


def parse_request(head: bytes) -> Request:
    """The request of a head, with or without the empty line that ends it. Raises BadRequest."""
    line, *rest = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    found = _LINE.fullmatch(line)
    if found is None:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the first line is no request of HTTP/1.1")
    method, target, major, _ = found.groups()
    if major != "1":
        raise BadRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here")
    if method not in {"GET", "HEAD"}:
        status, allow = HTTPStatus.METHOD_NOT_ALLOWED, ("Allow", "GET, HEAD")
        raise BadRequest(status, "only GET and HEAD are answered", allow)
    path = _ORIGIN.sub("", target, count=1).partition("?")[0] or "/"
    return Request(method=method, path=path, fields=_fields(rest))


def _fields(lines: list[str]) -> Mapping[str, str]:
    if len(lines) > MOST_FIELDS:
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        raise BadRequest(status, f"more than {MOST_FIELDS} header fields")
    fields: dict[str, str] = {}
    for line in lines:
        found = _FIELD.fullmatch(line)
        if found is None or _CONTROL.search(line):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "a line is no header field")
        name, value = found[1].lower(), found[2]
        if name == "authorization" and name in fields:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "more than one Authorization")
        # Lists may be spread over several fields.
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


def accepts(header: str, word: str) -> bool:
    """Whether a list such as Accept or Accept-Encoding names a word without refusing it (q=0)."""
    for entry in header.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        if name == word:
            return not any(re.fullmatch(r"q=0(\.0{0,3})?", each) for each in parameters)
    return False
