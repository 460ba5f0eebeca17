"""What is served at which path."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.utils import formatdate
from http import HTTPStatus
from itertools import islice

from prometheus_client.exposition import generate_latest as as_text
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics
from prometheus_client.registry import Collector

from numa_agent.core.health import Health
from numa_agent.core.report import to_json
from numa_agent.serve.access import Ruling
from numa_agent.serve.answer import Answer, document, lines
from numa_agent.serve.board import Board
from numa_agent.serve.request import Request, accepts

PATHS = {
    "/metrics": "the last pass and the counts since the start, for Prometheus",
    "/healthz": "liveness: whether the loop moves",
    "/readyz": "readiness: whether a full pass is done, and what fails",
    "/statusz": "the last report as JSON",
    "/": "this list",
}

GUARDED = ("/metrics", "/statusz")
"""Paths that need a token where tokens are asked for; kubelet's probes have none."""

_ASK = "who may get /statusz reads them here with a token, and the log has them"

# Our own choice of two: the library's own answers a version that it doesn't know with itself.
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_MOST_REASONS = 100

Rule = Callable[[str, str], Ruling]
"""Says what becomes of a request, by its Authorization and its path."""


def _nobody() -> Iterable[str]:
    return ()


class Pages:
    """Answers requests.

    `rule` asks for tokens, None where everybody may read. `troubles` are sentences of those who
    serve, told by /readyz as well.
    """

    def __init__(
        self,
        board: Board,
        metrics: Collector,
        rule: Rule | None = None,
        troubles: Callable[[], Iterable[str]] = _nobody,
    ) -> None:
        """Take what the loop tells and what is scraped."""
        self._board = board
        self._metrics = metrics
        self._rule = rule
        self._troubles = troubles

    def answer(self, request: Request) -> Answer:
        """The answer to one request."""
        if self._rule is not None and request.path in GUARDED:
            ruling = self._rule(request.fields.get("authorization", ""), request.path)
            if ruling.refused is not None:
                return ruling.refused
        match request.path:
            case "/metrics":
                return self._scrape(request)
            case "/healthz":
                return _probe(self._board.alive(), "alive", "not alive")
            case "/readyz":
                return self._readiness(request)
            case "/statusz":
                return _packed(self._status(), request)
            case "/":
                return lines(HTTPStatus.OK, (f"{path}  {what}" for path, what in PATHS.items()))
        known = f"there is {', '.join(PATHS)}"
        return lines(HTTPStatus.NOT_FOUND, (f"there is no such page; {known}",))

    def _scrape(self, request: Request) -> Answer:
        if accepts(request.fields.get("accept", ""), "application/openmetrics-text"):
            body: bytes = as_openmetrics(self._metrics)  # type: ignore[no-untyped-call]
            kind = _OPENMETRICS
        else:
            body, kind = as_text(self._metrics), _TEXT
        vary = ("Vary", "Accept, Accept-Encoding")
        return _packed(Answer(kind=kind, body=body, fields=(vary,)), request)

    def _readiness(self, request: Request) -> Answer:
        told = self._board.ready()
        if told.reasons and not self._may_know_why(request):
            told = replace(told, reasons=(f"reasons: {len(told.reasons)}; {_ASK}",))
        # That tokens can't be checked nobody could show a token to read.
        whole = replace(told, reasons=(*told.reasons, *self._troubles()))
        return _probe(whole, "ready", "not ready")

    def _may_know_why(self, request: Request) -> bool:
        """Whether a probe's client may read names and errors: who may read the last report.

        Everybody who is signed in may get a path /readyz, by Kubernetes' own roles.
        """
        if self._rule is None:
            return True
        authorization = request.fields.get("authorization", "")
        return bool(authorization) and self._rule(authorization, "/statusz").refused is None

    def _status(self) -> Answer:
        tally = self._board.tally
        if tally.report is None:
            return lines(HTTPStatus.SERVICE_UNAVAILABLE, ("no full pass is done yet",))
        made = formatdate(tally.at_unix, usegmt=True)
        vary = ("Vary", "Accept-Encoding")
        return document(to_json(tally.report), ("Last-Modified", made), vary)


def _probe(health: Health, good: str, bad: str) -> Answer:
    status = HTTPStatus.OK if health.good else HTTPStatus.SERVICE_UNAVAILABLE
    return lines(status, (good if health.good else bad, *_bounded(health.reasons)))


def _bounded(reasons: tuple[str, ...]) -> Iterator[str]:
    yield from islice(reasons, _MOST_REASONS)
    if len(reasons) > _MOST_REASONS:
        yield f"and {len(reasons) - _MOST_REASONS} more"


def _packed(answer: Answer, request: Request) -> Answer:
    wanted = accepts(request.fields.get("accept-encoding", ""), "gzip")
    return answer.packed() if wanted else answer
