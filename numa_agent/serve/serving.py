"""Everything that is served, put together."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from numa_agent.serve.access import Tokens
from numa_agent.serve.board import Board
from numa_agent.serve.certificates import Certificates
from numa_agent.serve.listening import listen
from numa_agent.serve.metrics import Metrics
from numa_agent.serve.metrics.families import counter, one
from numa_agent.serve.pages import Pages
from numa_agent.serve.server import Server


def serve(
    board: Board,
    address: str,
    port: int,
    *,
    certificates: Certificates | None = None,
    tokens: Tokens | None = None,
    per_container: bool = False,
) -> Server:
    """Answer at an address, in threads that end with the process or with the server's `close`.

    With `certificates` by TLS, with `tokens` only those who may. Raises SourceError where nothing
    can listen there.
    """

    def own() -> Iterator[Metric]:
        failing = None if certificates is None else certificates.trouble is not None
        return families_of(server.counts, tls_failing=failing)

    def troubles() -> Iterator[str]:
        for each in (certificates, tokens):
            if each is not None and each.trouble is not None:
                yield each.trouble

    metrics = Metrics(board, more=own, per_container=per_container)
    rule = None if tokens is None else tokens.rule
    pages = Pages(board, metrics, rule, troubles)
    server = Server(listen(address, port), pages.answer, certificates)
    server.start()
    return server


def families_of(
    counts: Mapping[tuple[str, str], int], *, tls_failing: bool | None
) -> Iterator[Metric]:
    """The families of those who serve; `tls_failing` is None where there is no TLS."""
    yield counter(
        "numa_agent_http_requests",
        "Answers given, by path and HTTP status.",
        ["path", "code"],
        sorted(counts.items()),
    )
    if tls_failing is not None:
        yield one(
            "numa_agent_tls_reload_failing",
            "1 while the certificate files can't be used.",
            int(tls_failing),
        )
