"""Following a node's pods, against a server that says what no real one says when it is asked."""

import json
import os
import socket
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from numa_agent.agent import Kept
from numa_agent.cluster.api import connect
from numa_agent.cluster.watch import watch_pods
from numa_agent.core.backoff import BackOff
from numa_agent.core.documents import items
from numa_agent.core.errors import ApiError
from tests.cluster.following import QUICK, SHORT, eventually, following
from tests.cluster.loopback import kubeconfig_of
from tests.cluster.pod_server import (
    STAY,
    UID,
    Act,
    Talk,
    bookmark,
    event,
    hang_up,
    listing,
    pod,
    pod_list,
    pod_server,
    refusing,
    silence,
    status,
    watching,
    well,
)


def test_it_lists_once_and_then_hears_what_changes(tmp_path: Path) -> None:
    events = [
        event("ADDED", pod(2, 11)),
        event("MODIFIED", pod(1, 12, annotations={"cpuset": "b"})),
        event("DELETED", pod(2, 13)),
        event("ADDED", pod(3, 14)),
    ]
    with (
        pod_server(listing(10, pod(1)), watching(*events, stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        agent.running[0] = frozenset({UID.format(1), UID.format(3)})
        eventually(lambda: agent.knows("p1", "p3"))
        assert agent.watch.pods().pods[0].annotations == {"cpuset": "b"}
        assert server.asked == ["list", "watch"]
        assert server.versions == ["10"]
        # It is woken when the pods are known.
        eventually(lambda: len(agent.woken) == 5)


def test_who_asks_first_waits_for_the_first_list(tmp_path: Path) -> None:
    def slow(talk: Talk) -> None:
        time.sleep(0.2)
        listing(10, pod(1))(talk)

    with (
        pod_server(slow, watching(stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path), grace=30.0) as agent,
    ):
        assert [each.name for each in agent.watch.pods().pods] == ["p1"]


@pytest.mark.parametrize(
    "quiet",
    [
        event("MODIFIED", pod(1, 11)),
        event("MODIFIED", pod(1, 11, generation=7, managedFields=[{"manager": "kubelet"}])),
        event("MODIFIED", pod(1, 11, annotations={"a": "b"}, labels={"a": "b"})),
        event("DELETED", pod(9, 11)),
        bookmark(11),
        b"\n" + bookmark(11),
    ],
)
def test_what_changes_nothing_that_is_read_wakes_nobody(quiet: bytes, tmp_path: Path) -> None:
    with (
        pod_server(
            listing(10, pod(1)), watching(quiet, stay=0.1), listing(11), watching(stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path), grace=STAY) as agent,
    ):
        known = agent.watch.pods()
        eventually(lambda: len(server.asked) == 4)
        assert server.versions == ["10", "11"]
        assert agent.names() == ["p1"]
        assert agent.watch.pods() is known
        assert len(agent.woken) == 1
        assert server.asked == ["list", "watch", "compare", "watch"]


def read_of(number: int) -> list[dict[str, Any]]:
    """A pod in every state in which something that is read differs from the first."""
    found = [pod(number, 11) for _ in range(6)]
    found[0]["metadata"]["labels"] = {"koordinator.sh/qosClass": "LS"}
    found[1]["metadata"]["annotations"] = {"cpuset": "b"}
    found[2]["status"]["phase"] = "Succeeded"
    found[3]["status"]["containerStatuses"][0]["state"] = {}
    found[4]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    found[5]["metadata"]["managedFields"] = [
        {"manager": "x", "fieldsV1": {"f:metadata": {"f:annotations": {"f:cpuset": {}}}}}
    ]
    return found


@pytest.mark.parametrize("changed", read_of(1), ids=range(6))
def test_whatever_is_read_of_a_pod_wakes(changed: dict[str, Any], tmp_path: Path) -> None:
    with (
        pod_server(listing(10, pod(1)), watching(event("MODIFIED", changed), stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: len(agent.woken) == 2)
        assert agent.names() == ["p1"]


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (watching(), "Connection broken"),
        (watching(bookmark(12)[:20]), "Connection broken"),
        (watching(bookmark(12)[:20], clean=True), "within a line"),
        (watching(clean=True), "before its time"),
        (hang_up, "can't watch Pods on Node n"),
        (silence, "timed out"),
        (watching(stay=STAY), "nothing came for 1 s"),
        (refusing(500), "HTTP 500: said 500"),
        (refusing(503), "HTTP 503"),
        (refusing(504), "HTTP 504"),
        (refusing(403), "RBAC rights to list and watch pods"),
        (refusing(302, Location="/login"), "HTTP 302"),
        (refusing(429, Retry_After="0"), "HTTP 429"),
        (watching(event("ERROR", status(500))), "HTTP 500"),
        (watching(event("ERROR", status(429, retryAfterSeconds=1))), "HTTP 429"),
        (watching(event("ERROR", {})), "HTTP 500"),
        (lambda talk: talk.raw(b"\x00\xff garbage\r\n\r\n"), "can't watch"),
        (lambda talk: talk.raw(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200), "can't watch"),
        (
            lambda talk: talk.raw(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"
            ),
            "can't watch",
        ),
    ],
)
def test_a_stream_that_breaks_is_taken_up_where_it_was(
    broken: Act, why: str, tmp_path: Path
) -> None:
    """Without a new list: only the server's own version is compared."""
    patience = SHORT if why in ("timed out", "nothing came for 1 s") else QUICK
    heard = threading.Event()

    def once_heard(talk: Talk) -> None:
        assert heard.wait(STAY)
        listing(13)(talk)

    with (
        pod_server(
            listing(10, pod(1)),
            watching(bookmark(12)),
            listing(12),
            broken,
            once_heard,
            watching(event("ADDED", pod(2, 14)), stay=STAY),
            # Where patience is short.
            *[well(14)] * 100,
        ) as server,
        following(
            kubeconfig_of(server.url, tmp_path),
            back_off=BackOff(first=0.2, most=0.2, obeyed=1.0),
            patience=patience,
        ) as agent,
    ):
        eventually(lambda: why in agent.fault())
        heard.set()
        eventually(lambda: agent.knows("p1", "p2"))
        assert server.asked[:6] == ["list", "watch", "compare", "watch", "compare", "watch"]
        assert server.versions[:3] == ["10", "12", "12"]
        assert patience is SHORT or len(server.asked) == 6


def test_a_watch_that_ended_in_its_time_goes_on_without_a_question(tmp_path: Path) -> None:
    with (
        pod_server(
            listing(10, pod(1)),
            watching(bookmark(12), stay=1.2, clean=True),
            watching(stay=STAY),
        ) as server,
        following(kubeconfig_of(server.url, tmp_path), watch=1.0) as agent,
    ):
        eventually(lambda: len(server.asked) == 3)
        assert server.asked == ["list", "watch", "watch"]
        assert server.versions == ["10", "12"]
        assert agent.names() == ["p1"]


@pytest.mark.parametrize(
    "gone",
    [
        refusing(410),
        watching(event("ERROR", status(410))),
        watching(b"garbage\n"),
        watching(b"[]\n"),
        watching(b"{}\n"),
        watching(b"\xff\xfe\n"),
        watching(b"[" * 50_000 + b"\n"),
        watching(b'{"type":"ADDED","object":' + b"1" * 5000 + b"}\n"),
        watching(event("ADDED", {})),
        watching(event("GONE", pod(1, 12))),
        watching(event("MODIFIED", pod(1, 9))),
        watching(bookmark(9)),
        watching(b'{"type":"BOOKMARK"}\n'),
        watching(*[b"x" * 1024 * 1024] * 11),
    ],
    ids=range(14),
)
def test_what_cant_be_gone_on_from_is_one_new_list(gone: Act, tmp_path: Path) -> None:
    with (
        pod_server(
            listing(10, pod(1), pod(2)), gone, listing(20, pod(2), pod(3)), watching(stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        agent.running[0] = frozenset()
        eventually(lambda: agent.knows("p2", "p3"))
        eventually(lambda: len(server.asked) == 4)
        assert server.asked == ["list", "watch", "list", "watch"]
        assert server.versions == ["10", "20"]


def test_a_bad_pod_costs_itself_alone(tmp_path: Path) -> None:
    bad = pod(2, 11)
    bad["status"]["qosClass"] = "Best"
    nameless = pod(3, 12)
    del nameless["metadata"]["name"]
    events = [event("ADDED", bad), event("ADDED", nameless), event("ADDED", pod(4, 13))]
    with (
        pod_server(listing(10, pod(1)), watching(*events, stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: agent.knows("p1", "p4"))
        read = agent.watch.pods()
        assert read.left_out
        assert len(read.problems) == 2
        assert server.asked == ["list", "watch"]


@pytest.mark.parametrize(
    "first",
    [
        hang_up,
        silence,
        refusing(500),
        refusing(401),
        refusing(403),
        refusing(429, Retry_After="0"),
        lambda talk: talk.answer(200, b"<html>login</html>"),
        lambda talk: talk.answer(200, {}),
        lambda talk: talk.answer(200, b"[]"),
        lambda talk: talk.answer(200, b"[" * 50_000),
        lambda talk: talk.answer(200, {"kind": "PodList", "items": []}),
        lambda talk: talk.answer(200, {"kind": "Pod", "metadata": {"resourceVersion": "1"}}),
        lambda talk: talk.answer(200, {**pod_list(1), "items": None}),
        lambda talk: talk.answer(200, {**pod_list(1), "items": [1]}),
        lambda talk: talk.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    ],
    ids=range(15),
)
def test_a_first_list_that_fails_says_why_and_is_tried_again(first: Act, tmp_path: Path) -> None:
    with (
        pod_server(*[first] * 100) as server,
        following(
            kubeconfig_of(server.url, tmp_path),
            answer=1.0 if first is silence else QUICK.answer,
        ) as agent,
    ):
        eventually(lambda: f"can't list Pods on Node n at {server.url}: " in agent.fault())
        server.script[:] = [well(10, pod(1))] * 100
        eventually(lambda: agent.knows("p1"))


@pytest.mark.parametrize(
    ("first", "unavailable"),
    [(hang_up, True), (refusing(503), True), (refusing(429), True), (refusing(403), False)],
)
def test_a_server_that_refuses_is_told_from_one_that_is_away(
    first: Act, unavailable: bool, tmp_path: Path
) -> None:
    with (
        pod_server(*[first] * 100) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: "can't list Pods" in agent.fault())
        reading = Kept("pods", agent.watch.pods).read()
        assert (reading.fresh, reading.age.unavailable) == (False, unavailable)


def test_a_list_that_drips_is_given_up(tmp_path: Path) -> None:
    def drip(talk: Talk) -> None:
        talk.open()
        while not talk.over.wait(0.05):
            talk.chunk(b" ")

    with (
        pod_server(*[drip] * 100) as server,
        following(kubeconfig_of(server.url, tmp_path), whole=0.4) as agent,
    ):
        eventually(lambda: "no end of the answer" in agent.fault())
        server.script[:] = [well(10, pod(1))] * 100
        eventually(lambda: agent.knows("p1"))


def test_a_line_that_drips_is_silence(tmp_path: Path) -> None:
    def drip(talk: Talk) -> None:
        talk.open()
        while not talk.over.wait(0.05):
            talk.chunk(b" ")

    with (
        pod_server(listing(10, pod(1)), drip, listing(10), watching(stay=STAY)) as server,
        following(kubeconfig_of(server.url, tmp_path), patience=SHORT),
    ):
        eventually(lambda: len(server.asked) >= 4)
        assert server.asked[:4] == ["list", "watch", "compare", "watch"]


def test_a_server_that_is_away_keeps_nobody_busy_and_says_so(tmp_path: Path) -> None:
    with (
        pod_server(listing(10, pod(1)), watching(stay=0.1)) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: "said 500" in agent.fault())
        began, tried = time.monotonic(), len(server.asked)
        eventually(lambda: len(server.asked) >= tried + 10)
        # The back-off is at its most, 0.1 s, half of it chance.
        assert time.monotonic() - began > 9 * 0.05
        assert agent.fault()


def test_nobody_comes_back_before_the_server_wants_it(tmp_path: Path) -> None:
    began = time.monotonic()
    with (
        pod_server(
            refusing(429, Retry_After="1"), listing(10, pod(1)), watching(stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: agent.knows("p1"))
        assert time.monotonic() - began > 0.9
        eventually(lambda: len(server.asked) == 3)
        assert server.asked == ["list", "list", "watch"]


def test_after_a_long_time_away_a_list_is_asked_for(tmp_path: Path) -> None:
    """An etcd may have been restored and its versions have passed ours."""
    with (
        pod_server(
            listing(10, pod(1)),
            watching(),
            *[refusing(503)] * 1000,
        ) as server,
        following(kubeconfig_of(server.url, tmp_path), outage=2.0) as agent,
    ):
        agent.running[0] = frozenset()
        eventually(lambda: server.asked.count("list") > 1)
        server.script[:] = [listing(1000, pod(2)), watching(stay=STAY)]
        eventually(lambda: agent.knows("p2"))
        eventually(lambda: server.asked[-2:] == ["list", "watch"])
        assert server.asked[2] == "compare"


def test_a_server_that_is_back_and_forgot_where_we_were_is_asked_at_once(tmp_path: Path) -> None:
    """The pauses that were due while it was away are over when it answers."""
    with (
        pod_server(
            listing(10, pod(1)),
            watching(),
            *[refusing(503)] * 5,
            listing(10),
            refusing(410),
            listing(20, pod(2)),
            watching(stay=STAY),
        ) as server,
        following(
            kubeconfig_of(server.url, tmp_path), back_off=BackOff(first=0.1, most=300.0)
        ) as agent,
    ):
        agent.running[0] = frozenset()
        eventually(lambda: server.versions[:2] == ["10", "10"])
        # Of 0.1 s doubled six times, half would be 3.2 s.
        eventually(lambda: agent.knows("p2"), 3.0)


@pytest.mark.parametrize("answer", [listing(3), listing(3, pod(7, 2))])
def test_a_server_that_went_back_takes_no_pod_that_still_runs(answer: Act, tmp_path: Path) -> None:
    with (
        pod_server(
            listing(10, pod(1), pod(2)), watching(), listing(3), answer, watching(stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: server.versions == ["10", "3"])
        found = {"p1", "p2"} | ({"p7"} if len(agent.names()) == 3 else set())
        assert set(agent.names()) == found
        (said,) = agent.watch.conditions()
        assert said.code == "pods-lost"
        assert "default/p1, default/p2" in said.message
        assert "went back from resourceVersion 10 to 3" in said.message
        agent.running[0] = frozenset({UID.format(2)})
        assert set(agent.names()) == found - {"p1"}
        agent.running[0] = frozenset()
        assert set(agent.names()) == found - {"p1", "p2"}
        assert agent.watch.conditions() == ()


def test_a_pod_that_comes_back_isnt_there_twice(tmp_path: Path) -> None:
    back = event("ADDED", pod(1, 4))
    with (
        pod_server(
            listing(10, pod(1)), watching(), listing(3), listing(3), watching(back, stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: server.versions == ["10", "3"] and not agent.watch.conditions())
        assert agent.names() == ["p1"]
        agent.running[0] = frozenset()
        assert agent.names() == ["p1"]


@pytest.mark.parametrize("runs", [True, False])
def test_a_deleted_pod_goes_when_its_cgroup_has_gone(runs: bool, tmp_path: Path) -> None:
    """An ordinary one at once; who deleted it by force didn't wait for its end."""
    with (
        pod_server(
            listing(10, pod(1), pod(2)), watching(event("DELETED", pod(1, 11)), stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        agent.running[0] = frozenset({UID.format(1)} if runs else ())
        eventually(lambda: len(agent.woken) == 2)
        assert agent.knows(*(["p1", "p2"] if runs else ["p2"]))
        assert agent.watch.conditions() == ()
        agent.running[0] = frozenset()
        assert agent.knows("p2")


def test_once_all_that_was_deleted_has_ended_nobody_looks_for_it_again(tmp_path: Path) -> None:
    with (
        pod_server(
            listing(10, pod(1), pod(2)), watching(event("DELETED", pod(1, 11)), stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        agent.running[0] = frozenset()
        eventually(lambda: agent.knows("p2"))
        agent.running[0] = None
        assert agent.knows("p2")
        assert agent.watch.pods() is agent.watch.pods()


def renewed(path: Path, token: str) -> None:
    path.write_text(path.read_text().replace("token: secret", f"token: {token}"))


def test_a_token_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"

    def expire(talk: Talk) -> None:
        renewed(kubeconfig, "fresh")
        refusing(401)(talk)

    with pod_server(
        listing(10, pod(1)), watching(), expire, listing(10), watching(stay=STAY)
    ) as server:
        kubeconfig_of(server.url, tmp_path)
        with following(kubeconfig) as agent:
            eventually(lambda: len(server.asked) == 5)
            assert agent.names() == ["p1"]
            assert server.tokens == ["Bearer secret"] * 3 + ["Bearer fresh"] * 2


def test_a_token_that_stays_bad_is_tried_no_more_often_than_any_failure(tmp_path: Path) -> None:
    with (
        pod_server(*[refusing(401)] * 50) as server,
        following(
            kubeconfig_of(server.url, tmp_path), back_off=BackOff(first=0.4, most=0.4)
        ) as agent,
    ):
        began, tried = time.monotonic(), len(server.asked)
        eventually(lambda: len(server.asked) >= tried + 4)
        # Half of a pause is chance.
        assert time.monotonic() - began > 3 * 0.2
        assert "renew it" in agent.fault()


def test_a_kubeconfig_that_is_gone_when_it_is_needed_again_is_named(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"

    def lose(talk: Talk) -> None:
        kubeconfig.unlink()
        refusing(401)(talk)

    with pod_server(lose, *[refusing(401)] * 1000) as server:
        kubeconfig_of(server.url, tmp_path)
        with following(kubeconfig, back_off=BackOff(first=0.3, most=0.3)) as agent:
            eventually(lambda: f"no kubeconfig at {kubeconfig}" in agent.fault())
            kubeconfig_of(server.url, tmp_path)
            server.script[:] = [well(10, pod(1))] * 100
            eventually(lambda: agent.knows("p1"))


def test_a_stream_that_breaks_often_leaves_nothing_open(tmp_path: Path) -> None:
    breaks = [act for _ in range(40) for act in (watching(bookmark(11)), listing(11))]
    with (
        pod_server(listing(10, pod(1)), *breaks, watching(stay=STAY)) as server,
        following(
            kubeconfig_of(server.url, tmp_path), back_off=BackOff(first=0.01, most=0.01)
        ) as agent,
    ):
        eventually(lambda: len(server.asked) > 10)
        before = len(os.listdir("/proc/self/fd"))
        eventually(lambda: len(server.asked) == 82)
        assert agent.names() == ["p1"]
        assert len(os.listdir("/proc/self/fd")) <= before + 6


@pytest.mark.parametrize("where", [silence, watching(stay=STAY), hang_up, refusing(500)])
@pytest.mark.parametrize("before", [[], [listing(10, pod(1))]])
def test_it_ends_at_once_wherever_it_waits(before: list[Act], where: Act, tmp_path: Path) -> None:
    with (
        pod_server(*before, *[where] * 5) as server,
        following(
            kubeconfig_of(server.url, tmp_path),
            answer=20.0,
            silence=20.0,
            back_off=BackOff(first=20.0),
        ),
    ):
        eventually(lambda: len(server.asked) > len(before))
        time.sleep(0.1)


def test_it_ends_at_once_in_a_handshake(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with following(kubeconfig_of(url, tmp_path)):
            time.sleep(0.2)


def test_after_the_end_nobody_is_woken(tmp_path: Path) -> None:
    def late(talk: Talk) -> None:
        talk.open()
        while not talk.over.wait(0.01):
            changed = pod(1, 11, annotations={"cpuset": str(time.monotonic())})
            talk.chunk(event("MODIFIED", changed))

    with pod_server(listing(10, pod(1)), late) as server:
        with following(kubeconfig_of(server.url, tmp_path)) as agent:
            eventually(lambda: len(agent.woken) > 5)
        woken = len(agent.woken)
        time.sleep(0.1)
        assert len(agent.woken) == woken


def test_an_unexpected_error_reaches_the_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", caught.append)

    def fail() -> None:
        raise ZeroDivisionError

    with pod_server(listing(10, pod(1))) as server:
        kubeconfig = kubeconfig_of(server.url, tmp_path)
        watch = watch_pods(kubeconfig, "n", wake=fail, running=lambda: None)
        eventually(lambda: bool(caught))
        watch.close()
        assert caught[0].exc_type is ZeroDivisionError


@pytest.mark.parametrize("number", [float("nan"), "1e400", None, -1, 2**80, "x", True])
def test_a_version_of_any_shape_ends_nothing(number: object, tmp_path: Path) -> None:
    odd = json.dumps(
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": number}}}
    ).encode()
    with (
        pod_server(
            listing(10, pod(1)), watching(odd + b"\n"), listing(20, pod(1)), watching(stay=STAY)
        ) as server,
        following(kubeconfig_of(server.url, tmp_path)) as agent,
    ):
        eventually(lambda: len(server.asked) == 4)
        eventually(lambda: agent.knows("p1"))
        assert server.versions[0] == "10"


def test_every_request_reads_a_token_again_that_was_renewed(tmp_path: Path) -> None:
    """A kubeconfig's token has no date by which the library would know that it has ended."""
    kubeconfig = tmp_path / "kubeconfig"

    def expire(talk: Talk) -> None:
        renewed(kubeconfig, "fresh")
        refusing(401)(talk)

    with pod_server(expire, listing(10, pod(1)), refusing(401), refusing(401)) as server:
        kubeconfig_of(server.url, tmp_path)
        with closing(connect(kubeconfig)) as cluster:
            assert len(items(cluster.pods_on("n")["items"])) == 1
            with pytest.raises(ApiError, match="HTTP 401"):
                cluster.pods_on("n")
        assert server.tokens == ["Bearer secret", *["Bearer fresh"] * 2]
