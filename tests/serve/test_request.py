"""What comes over the wire, by the rules of HTTP/1.1."""

import string
from contextlib import suppress
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as some

from numa_agent.serve.request import MOST_FIELDS, BadRequest, Request, accepts, parse_request


def head(*lines: str) -> bytes:
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def refused(*lines: str) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        parse_request(head(*lines))
    return caught.value


def test_a_request_is_its_method_path_and_fields() -> None:
    found = parse_request(head("GET /metrics HTTP/1.1", "Host: n", "ACCEPT:  text/plain \t"))
    assert found == Request(
        method="GET", path="/metrics", fields={"host": "n", "accept": "text/plain"}
    )
    assert found.wants_body
    assert not parse_request(head("HEAD / HTTP/1.0")).wants_body


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/metrics?name[]=up", "/metrics"),
        ("/?a=/metrics", "/"),
        ("http://node:9316/metrics", "/metrics"),
        ("HTTPS://node/metrics?x", "/metrics"),
        ("http://node", "/"),
        ("http://node?x", "/"),
        ("//metrics", "//metrics"),
        ("/metrics/", "/metrics/"),
        ("/%6detrics", "/%6detrics"),
        ("metrics", "metrics"),
        ("*", "*"),
    ],
)
def test_the_path_is_what_stands_before_the_query(target: str, path: str) -> None:
    assert parse_request(head(f"GET {target} HTTP/1.1")).path == path


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("", HTTPStatus.BAD_REQUEST),
        ("GET", HTTPStatus.BAD_REQUEST),
        ("GET /", HTTPStatus.BAD_REQUEST),  # HTTP/0.9
        ("GET  / HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("GET / HTTP/1.1 ", HTTPStatus.BAD_REQUEST),
        (" GET / HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("GET /a b HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("GET /\x00 HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("GET /é HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("GET / HTTP/1.10", HTTPStatus.BAD_REQUEST),
        ("GET / http/1.1", HTTPStatus.BAD_REQUEST),
        (f"GET /{'x' * 5000} HTTP/1.1", HTTPStatus.BAD_REQUEST),
        ("\x16\x03\x01\x02", HTTPStatus.BAD_REQUEST),  # TLS
        ("PRI * HTTP/2.0", HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
        ("GET / HTTP/0.9", HTTPStatus.HTTP_VERSION_NOT_SUPPORTED),
        ("POST /metrics HTTP/1.1", HTTPStatus.METHOD_NOT_ALLOWED),
        ("get / HTTP/1.1", HTTPStatus.METHOD_NOT_ALLOWED),
        ("CONNECT node:443 HTTP/1.1", HTTPStatus.METHOD_NOT_ALLOWED),
        ("OPTIONS * HTTP/1.1", HTTPStatus.METHOD_NOT_ALLOWED),
    ],
)
def test_another_first_line_is_refused(line: str, status: HTTPStatus) -> None:
    assert refused(line).status == status


def test_the_methods_that_are_answered_are_named() -> None:
    assert refused("PUT / HTTP/1.1").fields == (("Allow", "GET, HEAD"),)


@pytest.mark.parametrize(
    "field",
    [
        "no colon",
        ": no name",
        "name : x",
        "na me: x",
        " folded",
        "\tfolded",
        "name: a\x00b",
        "name: a\nb: c",
        "name: a\rb",
        "näme: x",
        "",
    ],
)
def test_a_line_that_is_no_field_is_refused(field: str) -> None:
    assert refused("GET / HTTP/1.1", field, "Host: n").status == HTTPStatus.BAD_REQUEST


def test_there_may_be_so_many_fields_and_no_more() -> None:
    fields = [f"x-{number}: y" for number in range(MOST_FIELDS + 1)]
    assert len(parse_request(head("GET / HTTP/1.1", *fields[1:])).fields) == MOST_FIELDS
    assert refused("GET / HTTP/1.1", *fields).status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


def test_a_list_may_be_spread_but_not_a_token() -> None:
    found = parse_request(head("GET / HTTP/1.1", "Accept: a", "accept: b"))
    assert found.fields == {"accept": "a, b"}
    twice = ("Authorization: Bearer a", "authorization: Bearer b")
    assert refused("GET / HTTP/1.1", *twice).status == HTTPStatus.BAD_REQUEST


@given(some.binary(max_size=300))
def test_bytes_of_any_kind_are_a_request_or_refused(data: bytes) -> None:
    with suppress(BadRequest):
        assert parse_request(data).method in {"GET", "HEAD"}


@given(some.text(string.printable, max_size=100))
def test_no_field_brings_another_one_in(text: str) -> None:
    try:
        found = parse_request(head("GET / HTTP/1.1", f"a: {text}"))
    except BadRequest:
        return
    assert not {"\r", "\n"} & {*"".join(found.fields.values())}


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("gzip", True),
        ("deflate, gzip;q=0.5, br", True),
        ("GZIP ; Q=1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=0.001", True),
        ("x-gzip", False),
        ("*", False),
        ("", False),
        (",;,", False),
    ],
)
def test_a_list_names_a_word_or_refuses_it(header: str, taken: bool) -> None:
    assert accepts(header, "gzip") is taken
