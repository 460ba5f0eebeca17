"""Telling those who scrape and probe what the loop does."""

from collections.abc import Callable
from contextlib import ExitStack

from numa_agent.agent import News, Seen
from numa_agent.agent.publisher import Send, sent
from numa_agent.config import Config
from numa_agent.core.publishing import Published
from numa_agent.core.report import Report
from numa_agent.core.view import Json
from numa_agent.serve.board import Board

REVIEW_SECONDS = 5
"""For the next part of the API server's answer on a token: somebody waits for the page."""

Tell = Callable[[News], None]
"""Hears of each pass and of what is done between them, or why there was no pass."""


def told(board: Board, tell: Tell) -> Tell:
    """Tells of passes, and of what is done between them, to those who serve as well."""

    def both(found: News) -> None:
        if isinstance(found, Report):
            board.passed(found)
        elif isinstance(found, Seen):
            board.wrote(found.writes)
        else:
            board.failed(str(found))
        logged(board, lambda: tell(found))

    return both


def logged(board: Board, tell: Callable[[], None]) -> None:
    """Write to the log; where that fails, those who probe hear of it, and all else goes on."""
    try:
        tell()
    except OSError as error:
        board.unsaid = f"the log can't be written: {error.strerror or error}"
    else:
        board.unsaid = None


def counted(send: Send, board: Board) -> Send:
    """Sends objects, and tells what became of each try."""

    def send_and_count(manifest: Json) -> Published | None:
        published = sent(send, manifest)
        board.tried(manifest, published)
        return published

    return send_and_count


def start(config: Config, board: Board, stack: ExitStack) -> None:
    """Serve metrics and health, where that is asked for, until the stack ends."""
    address = config.metrics_address
    if address is None:
        return
    from numa_agent.serve.access import Tokens
    from numa_agent.serve.certificates import Certificates
    from numa_agent.serve.serving import serve

    certificates = tokens = None
    if config.metrics_tls_cert is not None and config.metrics_tls_key is not None:
        certificates = Certificates(config.metrics_tls_cert, config.metrics_tls_key)
    if config.metrics_auth == "token-review":
        from numa_agent.cluster.api import connect

        # Of its own: who scrapes waits for few seconds only, and not behind a pass.
        asked = connect(config.kubeconfig, read_seconds=REVIEW_SECONDS)
        stack.callback(asked.close)
        tokens = Tokens(asked.user_of, asked.may_get)
    server = serve(board, *address, certificates=certificates, tokens=tokens)
    stack.callback(server.close)
