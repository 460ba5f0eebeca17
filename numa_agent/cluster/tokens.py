"""Asking the API server whom a bearer token stands for, and what that user may get.

TokenReview: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
SubjectAccessReview: https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
"""

from collections.abc import Sequence

from numa_agent.cluster.kinds import Target
from numa_agent.core.access import User
from numa_agent.core.documents import Document, items, mapping, text

Json = dict[str, object]

TOKEN_REVIEWS = Target(
    label="TokenReview",
    path="/apis/authentication.k8s.io/v1/tokenreviews",
    rights="create tokenreviews.authentication.k8s.io",
    missing="does the server speak authentication.k8s.io/v1?",
)
ACCESS_REVIEWS = Target(
    label="SubjectAccessReview",
    path="/apis/authorization.k8s.io/v1/subjectaccessreviews",
    rights="create subjectaccessreviews.authorization.k8s.io",
    missing="does the server speak authorization.k8s.io/v1?",
)


def token_review(token: str, audiences: Sequence[str]) -> Json:
    """The question whose a token is; without audiences it must be one for the API server."""
    spec: Json = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}


def reviewed_user(review: Document, audiences: Sequence[str]) -> User | None:
    """The user of an answered TokenReview, None where the token isn't good for the audiences.

    A server that knows nothing of audiences answers none of them, and is then not believed.
    """
    status = mapping(review.get("status"))
    said = mapping(status.get("user"))
    name = text(said.get("username"))
    if status.get("authenticated") is not True or name is None:
        return None
    if audiences and not set(audiences) & {*_texts(status.get("audiences"))}:
        return None
    extra = mapping(said.get("extra"))
    return User(
        name=name,
        uid=text(said.get("uid")) or "",
        groups=_texts(said.get("groups")),
        extra={key: _texts(values) for key, values in extra.items()},
    )


def access_review(user: User, path: str) -> Json:
    """The question whether a user may get a path that is no resource of the API."""
    spec: Json = {
        "user": user.name,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
        "nonResourceAttributes": {"path": path, "verb": "get"},
        **({"uid": user.uid} if user.uid else {}),
    }
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def allowed(review: Document) -> bool:
    """Whether an answered SubjectAccessReview says yes; anything unclear is a no."""
    status = mapping(review.get("status"))
    return status.get("allowed") is True and status.get("denied") is not True


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in items(value) if isinstance(each, str))
