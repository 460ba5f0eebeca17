"""What the API server answers: an object, or a Status that says why not.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/; Retry-After:
https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from numa_agent.cluster.kinds import Target
from numa_agent.core.documents import items, mapping, text
from numa_agent.core.errors import ApiError
from numa_agent.core.publishing import too_large, undeclared

NO_API_SERVER = "does a Kubernetes API server listen there?"

_SHOWN = 200
_MOST_SHOWN = 2000
_NOT_READY = "not yet ready to handle request"
_DENIED = re.compile(r"denied (the )?request")
_RIVAL = re.compile(r'conflict with "(.*?)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer as it came."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes

    @property
    def document(self) -> dict[str, object] | None:
        """The JSON object in the body, None where there is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def says(self, reason: str) -> bool:
        """Whether it is a Status with that reason."""
        document = self.document or {}
        return document.get("kind") == "Status" and document.get("reason") == reason

    @property
    def namespace_goes(self) -> bool:
        """Whether nothing can be made since its namespace isn't there or is being deleted."""
        if self.status == 404:
            return self.says("NotFound")
        causes = items(mapping(mapping(self.document).get("details")).get("causes"))
        reasons = {mapping(cause).get("reason") for cause in causes}
        return self.status == 403 and "NamespaceTerminating" in reasons


def refusal(answer: Answer, what: str, url: str, target: Target) -> ApiError:
    """The error of an answer that isn't the object asked for; `what` such as `get Node n`."""
    document = mapping(answer.document)
    message = text(document.get("message"))
    if message is None:
        message = answer.body[: _SHOWN * 4].decode(errors="replace")[:_SHOWN].strip()
    message = message[:_MOST_SHOWN]  # a refused object may be quoted in it
    causes = [mapping(each) for each in items(mapping(document.get("details")).get("causes"))]
    # Until its admission plugins have what they go by, a server that starts refuses all writes.
    ill = answer.status == 403 and _NOT_READY in message
    hint = _hint(target, 503 if ill else answer.status, message)
    return ApiError(
        f"can't {what} at {url}: HTTP {answer.status}: {message}; {hint}",
        status=503 if ill else answer.status,
        reason=text(document.get("reason")) or "",
        retry_after=_retry_after(answer),
        managers=_managers(causes),
    )


def _retry_after(answer: Answer) -> float | None:
    headers = {key.lower(): value for key, value in answer.headers.items()}
    value = headers.get("retry-after")
    if value is None:
        seconds = mapping(mapping(answer.document).get("details")).get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int) and seconds > 0 else None
    now = _moment(headers.get("date", "")) or datetime.now(UTC)
    return retry_after(value, now)


def retry_after(value: str, now: datetime) -> float | None:
    """The seconds from now that a Retry-After header means, None where it means nothing.

    It holds whole seconds or an HTTP-date; one that has passed means at once, 0.
    """
    if re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return float(value)
    moment = _moment(value)
    return None if moment is None else max((moment - now).total_seconds(), 0.0)


def _moment(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _managers(causes: list[Mapping[str, object]]) -> tuple[str, ...]:
    """The field managers that the causes of a failed server-side apply name."""
    conflicts = (
        _RIVAL.search(str(cause.get("message", "")))
        for cause in causes
        if cause.get("reason") == "FieldManagerConflict"
    )
    return tuple(sorted({found[1] for found in conflicts if found}))


def _hint(target: Target, status: int, message: str) -> str:
    """What to do about an answer that is not the object asked for."""
    hints = {
        401: "the token or certificate is expired or of another cluster: renew it",
        403: f"this user needs the RBAC rights to {target.rights}",
        404: target.missing,
        405: target.missing,
        409: "another writer was there: look at metadata.managedFields",
    }
    if too_large(status, message):
        return "the object is larger than the server takes"
    if undeclared(status, message):
        return f"the definition on the server is another: {target.missing}"
    if status < 400:
        return NO_API_SERVER
    if status == 403 and _DENIED.search(message):
        return "an admission policy or webhook of the cluster forbids it, whatever the rights"
    if status == 429 or status >= 500:
        return "the server is overloaded or ill: try again later"
    return hints.get(status, "the server refuses this request as it is")
