"""What is asked about tokens, and what is made of answers of any shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from numa_agent.cluster.tokens import access_review, allowed, reviewed_user, token_review
from numa_agent.core.access import User

USER = {
    "username": "system:serviceaccount:monitoring:prometheus",
    "uid": "u1",
    "groups": ["system:serviceaccounts", "system:authenticated"],
    "extra": {"authentication.kubernetes.io/pod-name": ["p1"]},
}

ANYTHING = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(
            some.sampled_from(
                [
                    "status",
                    "user",
                    "username",
                    "groups",
                    "extra",
                    "authenticated",
                    "audiences",
                    "x",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


def review(**status: Any) -> dict[str, object]:
    return {"kind": "TokenReview", "status": {"authenticated": True, "user": USER, **status}}


def test_a_token_is_asked_about_with_its_audiences_only_where_there_are_some() -> None:
    assert token_review("t", ())["spec"] == {"token": "t"}
    assert token_review("t", ("a",))["spec"] == {"token": "t", "audiences": ["a"]}


def test_a_good_token_stands_for_its_user() -> None:
    assert reviewed_user(review(), ()) == User(
        name="system:serviceaccount:monitoring:prometheus",
        uid="u1",
        groups=("system:serviceaccounts", "system:authenticated"),
        extra={"authentication.kubernetes.io/pod-name": ("p1",)},
    )


@pytest.mark.parametrize(
    "status",
    [
        {"authenticated": False},
        {"authenticated": None},
        {"authenticated": "true"},
        {"authenticated": 1},
        {"user": None},
        {"user": {}},
        {"user": {"username": ""}},
        {"user": {"username": 7}},
        {"user": [USER]},
    ],
)
def test_an_answer_that_names_nobody_is_nobody(status: dict[str, object]) -> None:
    assert reviewed_user(review(**status), ()) is None


@pytest.mark.parametrize("document", [{}, {"status": None}, {"status": []}, {"kind": "Status"}])
def test_an_answer_without_a_status_is_nobody(document: dict[str, object]) -> None:
    assert reviewed_user(document, ()) is None
    assert not allowed(document)


def test_a_server_that_does_not_say_for_which_audience_is_not_believed() -> None:
    assert reviewed_user(review(), ("metrics",)) is None
    assert reviewed_user(review(audiences=["other"]), ("metrics",)) is None
    assert reviewed_user(review(audiences="metrics"), ("metrics",)) is None
    assert reviewed_user(review(audiences=["other", "metrics"]), ("metrics",)) is not None


def test_all_that_is_known_of_a_user_is_passed_on() -> None:
    user = reviewed_user(review(), ())
    assert user is not None
    assert access_review(user, "/metrics")["spec"] == {
        "user": USER["username"],
        "uid": "u1",
        "groups": USER["groups"],
        "extra": USER["extra"],
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }
    assert "uid" not in str(access_review(User(name="n"), "/metrics"))


@pytest.mark.parametrize(
    ("status", "yes"),
    [
        ({"allowed": True}, True),
        ({"allowed": True, "reason": "RBAC"}, True),
        ({"allowed": False}, False),
        ({"allowed": "true"}, False),
        ({"allowed": True, "denied": True}, False),
        ({}, False),
    ],
)
def test_only_a_clear_yes_is_one(status: dict[str, object], yes: bool) -> None:
    assert allowed({"status": status}) is yes


@given(ANYTHING)
def test_an_answer_of_any_shape_is_somebody_or_nobody(status: object) -> None:
    document = {"status": status}
    user = reviewed_user(document, ())
    assert user is None or user.name
    allowed(document)
