"""Everything that is served, over real sockets."""

import gzip
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

from numa_agent.core.access import User
from numa_agent.core.errors import ApiError
from numa_agent.core.health import LEAST_SECONDS
from numa_agent.core.publishing import Outcome, Published
from numa_agent.core.report import SourceAge, to_json
from numa_agent.serve.access import Tokens
from numa_agent.serve.board import Board
from numa_agent.serve.server import Server
from numa_agent.serve.serving import serve
from tests.core.test_report import GOOD
from tests.serve.clients import get
from tests.serve.reports import FULL, Clock, board, parsed

# What Prometheus 2.42 and 3 send.
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told(clock: Clock) -> Board:
    return board(clock)


@pytest.fixture
def server(told: Board) -> Iterator[Server]:
    with closing(serve(told, "127.0.0.1", 0, per_container=True)) as server:
        yield server


def tell_all(told: Board) -> None:
    """One of everything."""
    told.failed("no map")
    told.passed(FULL)
    told.wrote(GOOD.writes)
    told.tried({"kind": "Device"}, Published(outcome=Outcome.CREATED, detail=""))


def test_metrics_are_the_text_format_for_those_who_ask_for_nothing(
    told: Board, server: Server
) -> None:
    told.passed(GOOD)
    reply = get(server)
    assert reply.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "accept-encoding" in reply.fields["vary"].lower()
    assert parsed(reply.body.decode())["numa_agent_source_failing", "pods"] == 0


@pytest.mark.parametrize("accept", [PROMETHEUS, "application/openmetrics-text"])
def test_metrics_are_openmetrics_for_those_who_ask_for_it(
    accept: str, told: Board, server: Server
) -> None:
    tell_all(told)
    reply = get(server, Accept=accept)
    assert (
        reply.fields["content-type"]
        == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    )
    found = openmetrics(reply.body.decode())  # type: ignore[no-untyped-call]
    families = {family.name for family in found}
    assert {"numa_agent_passes", "numa_agent_pass_duration_seconds"} <= families


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text;q=0",
        "text/html",
        "application/openmetrics-text-x",
        ";;;,,,=",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily",
    ],
)
def test_any_other_wish_gets_the_text_format(accept: str, told: Board, server: Server) -> None:
    told.passed(GOOD)
    reply = get(server, Accept=accept)
    assert reply.status == 200
    assert reply.fields["content-type"].startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize("version", ["x", "1.0.0.0.0", "999", "", "1;q=", "0.0.1"])
def test_a_version_that_nobody_speaks_is_not_echoed(
    version: str, told: Board, server: Server
) -> None:
    told.passed(GOOD)
    reply = get(server, Accept=f"application/openmetrics-text;version={version}")
    assert reply.status == 200
    assert reply.fields["content-type"].endswith("version=1.0.0; charset=utf-8")


def test_metrics_are_packed_for_those_who_ask_for_it(told: Board, server: Server) -> None:
    tell_all(told)
    get(server)  # from the second on the number of series stays
    packed = get(server, Accept_Encoding="deflate, gzip;q=0.9")
    assert packed.fields["content-encoding"] == "gzip"
    assert int(packed.fields["content-length"]) == len(packed.body)
    plain = get(server, Accept_Encoding="gzip;q=0")
    assert "content-encoding" not in plain.fields
    assert gzip.decompress(packed.body).count(b"\n") == plain.body.count(b"\n")
    assert len(packed.body) * 3 < len(plain.body)


@pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool isn't there: it comes with Debian's package prometheus",
)
@pytest.mark.parametrize("full", [False, True])
def test_promtool_finds_nothing_to_say(full: bool, told: Board, server: Server) -> None:
    if full:
        tell_all(told)
    body = get(server).body
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=body, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_liveness_is_the_beat_of_the_loop(told: Board, server: Server, clock: Clock) -> None:
    assert (get(server, "/healthz").status, get(server, "/healthz").lines) == (200, ["alive"])
    clock.now += LEAST_SECONDS + 1
    reply = get(server, "/healthz")
    assert reply.status == 503
    assert reply.lines == ["not alive", "the loop hasn't moved for 301 s; 300 s are allowed"]
    told.beat()
    assert get(server, "/healthz").status == 200


def test_whatever_the_loop_tells_is_a_beat(told: Board, server: Server, clock: Clock) -> None:
    clock.now += LEAST_SECONDS + 1
    told.failed("no map")
    assert get(server, "/healthz").status == 200


def test_readiness_comes_with_the_first_pass(told: Board, server: Server) -> None:
    reply = get(server, "/readyz")
    assert (reply.status, reply.lines) == (503, ["not ready", "no full pass is done yet"])
    told.failed("the map can't be read")
    assert get(server, "/readyz").lines[1:] == [
        "no full pass is done yet",
        "the map can't be read",
    ]
    told.passed(GOOD)
    assert (get(server, "/readyz").status, get(server, "/readyz").lines) == (200, ["ready"])
    told.fatal = "x.yaml:3: no such scheduler"
    assert get(server, "/readyz").status == 503


def test_failing_sources_are_told_one_a_line(told: Board, server: Server) -> None:
    age = SourceAge(source="node", age_seconds=1.0, error="line one\nline two")
    told.passed(replace(GOOD, sources=(age,)))
    reply = get(server, "/readyz")
    assert (reply.status, reply.lines) == (200, ["ready", "node: line one line two"])


def test_reasons_without_end_are_cut(told: Board, server: Server) -> None:
    told.passed(replace(GOOD, failures=tuple(f"failure {number};" for number in range(1000))))
    found = get(server, "/readyz").lines
    assert len(found) == 102
    assert found[-1] == "and 900 more"


def test_the_status_is_the_last_report(told: Board, server: Server) -> None:
    assert get(server, "/statusz").status == 503
    told.passed(FULL)
    reply = get(server, "/statusz")
    assert reply.fields["content-type"] == "application/json"
    assert reply.fields["last-modified"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert json.loads(reply.body) == to_json(FULL)
    packed = get(server, "/statusz", Accept_Encoding="gzip")
    assert json.loads(gzip.decompress(packed.body)) == to_json(FULL)


def test_the_first_page_lists_the_others(server: Server) -> None:
    reply = get(server, "/")
    assert reply.status == 200
    assert [line.split()[0] for line in reply.lines] == [
        "/metrics",
        "/healthz",
        "/readyz",
        "/statusz",
        "/",
    ]


@pytest.mark.parametrize("path", ["/metrics/", "/Metrics", "//metrics", "/../metrics", "/x"])
def test_no_other_page_is_there(path: str, server: Server) -> None:
    assert get(server, path).status == 404


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/statusz", "/x"])
def test_head_answers_as_get_does(path: str, told: Board, server: Server) -> None:
    told.passed(GOOD)
    one, other = get(server, path), get(server, path, method="HEAD")
    assert (one.status, other.body) == (other.status, b"")
    assert int(other.fields["content-length"]) > 0


def test_scrapes_while_the_loop_tells_are_whole(told: Board, server: Server) -> None:
    """Each answer is of one moment, whatever is told meanwhile."""
    ending = threading.Event()

    def tell() -> None:
        while not ending.is_set():
            tell_all(told)

    loop = threading.Thread(target=tell)
    loop.start()
    try:
        for _ in range(30):
            reply = get(server)
            assert reply.status == 200
            found = parsed(reply.body.decode())
            passes = found["numa_agent_passes_total", "faulty"]
            assert found["numa_agent_pass_duration_seconds_count",] == passes
            assert found["numa_agent_source_errors_total", "node"] == passes
    finally:
        ending.set()
        loop.join(10)


class Tokened:
    """A server that asks for tokens: `good` may get `paths`, which is /metrics alone."""

    def __init__(self, told: Board) -> None:
        self.down = False
        self.paths = {"/metrics"}
        self.clock = Clock()
        tokens = Tokens(self._who, lambda _, path: path in self.paths, self.clock)
        self.server = serve(told, "127.0.0.1", 0, tokens=tokens)

    def _who(self, token: str) -> User | None:
        if self.down:
            raise ApiError("can't create TokenReview: down")
        return User(name="prometheus") if token == "good" else None


@pytest.fixture
def tokened(told: Board) -> Iterator[Tokened]:
    found = Tokened(told)
    with closing(found.server):
        yield found


def test_where_tokens_are_asked_for_the_pages_with_names_need_one(
    tokened: Tokened, told: Board
) -> None:
    told.passed(GOOD)
    server = tokened.server
    for path in ("/metrics", "/statusz"):
        reply = get(server, path)
        assert reply.status == 401
        assert reply.fields["www-authenticate"] == "Bearer"
        assert get(server, path, Authorization="Bearer bad").status == 401
    assert get(server, "/metrics", Authorization="Bearer good").status == 200
    assert get(server, "/statusz", Authorization="Bearer good").status == 403
    assert get(server, "/metrics", method="HEAD").status == 401


def test_probes_never_need_a_token(tokened: Tokened, told: Board) -> None:
    told.passed(GOOD)
    tokened.down = True
    for path in ("/healthz", "/readyz", "/"):
        assert get(tokened.server, path).status == 200


def test_a_token_that_can_not_be_checked_is_told_by_readiness(
    tokened: Tokened, told: Board
) -> None:
    told.passed(GOOD)
    assert get(tokened.server, "/readyz").lines == ["ready"]
    tokened.down = True
    reply = get(tokened.server, "/metrics", Authorization="Bearer good")
    assert (reply.status, reply.fields["retry-after"]) == (503, "5")
    assert get(tokened.server, "/readyz").lines[:1] == ["ready"]
    assert get(tokened.server, "/readyz").lines[1].startswith("tokens can't be checked: ")


@pytest.mark.parametrize("token", [None, "Bearer bad", "Bearer good", "Basic x"])
def test_without_a_token_for_the_report_readiness_names_nobody(
    token: str | None, tokened: Tokened, told: Board
) -> None:
    told.passed(replace(GOOD, failures=("pod shop/web: secret words",)))
    told.fatal = "config.yaml:3: secret words"
    reply = (
        get(tokened.server, "/readyz")
        if token is None
        else get(tokened.server, "/readyz", Authorization=token)
    )
    assert reply.status == 503
    assert reply.lines[0] == "not ready"
    assert reply.lines[1].startswith("reasons: 2; ")
    assert b"secret words" not in reply.body


def test_who_may_read_the_report_reads_the_reasons_too(tokened: Tokened, told: Board) -> None:
    tokened.paths.add("/statusz")
    told.passed(replace(GOOD, failures=("pod shop/web: down",)))
    reply = get(tokened.server, "/readyz", Authorization="Bearer good")
    assert reply.lines == ["ready", "pod shop/web: down"]


def test_an_agent_that_never_looked_is_not_ready_and_stays_so_once_it_did(
    server: Server, told: Board
) -> None:
    told.passed(replace(GOOD, looked=False))
    assert get(server, "/readyz").status == 503
    told.passed(GOOD)
    told.passed(replace(GOOD, looked=False))
    assert get(server, "/readyz").status == 200
