"""A ServiceAccount with the agent's rights, which can be taken away, and a token in a file."""

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.apiserver.control_plane import ControlPlane
from tests.apiserver.objects import MERGE
from tests.chaos.daemon import eventually

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"

RIGHTS = {
    "nodes": ("", ["get"]),
    "pods": ("", ["list", "watch"]),
    "events": ("", ["create", "patch"]),
    "noderesourcetopologies": ("topology.node.k8s.io", ["get", "create", "patch"]),
}

Json = dict[str, Any]


class Account:
    """One account; `kubeconfig` signs in with the token that lies in `token`."""

    def __init__(self, plane: ControlPlane, name: str, folder: Path, url: str = "") -> None:
        self._plane = plane
        self._seat: http.client.HTTPSConnection | None = None
        self.name = name
        self.user = f"system:serviceaccount:default:{name}"
        self.token = folder / "token"
        self.kubeconfig = folder / "kubeconfig"
        self._make()
        plane.ask("POST", f"{RBAC}/clusterroles", {**self._named(), "rules": self._rules(())})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        binding = {**self._named(), "roleRef": reference, "subjects": [subject]}
        plane.ask("POST", f"{RBAC}/clusterrolebindings", binding)
        self.sign_in()
        content = json.loads(plane.kubeconfig_for(name, "").read_text())
        content["clusters"][0]["cluster"]["server"] = url or plane.url
        content["users"][0]["user"] = {"tokenFile": str(self.token)}
        self.kubeconfig.write_text(json.dumps(content))

    def sign_in(self) -> None:
        """Put a new token into the file, whole, as kubelet does."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"{ACCOUNTS}/{self.name}/token"
        fresh = self.token.with_suffix(".new")
        fresh.write_text(str(self._plane.ask("POST", path, request)["status"]["token"]))
        fresh.rename(self.token)

    def revoke(self) -> None:
        """Make every token that was given out invalid."""
        self._plane.ask("DELETE", f"{ACCOUNTS}/{self.name}")
        self._make()

    def valid(self) -> bool:
        """Whether the server takes the token in the file; it remembers one for ten seconds."""
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": self.token.read_text()},
        }
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        return bool(self._plane.ask("POST", path, review)["status"].get("authenticated"))

    def forbid(self, *resources: str) -> None:
        """Take away the rights on these resources, and give back all others.

        The server goes by that when this returns: it takes a moment to know of it.
        """
        body = {"rules": self._rules(resources)}
        path = f"{RBAC}/clusterroles/{self.name}"
        self._plane.ask("PATCH", path, body, content_type=MERGE)
        eventually(lambda: all(self._may(each) == (each not in resources) for each in RIGHTS))

    def _may(self, resource: str) -> bool:
        """Whether the server lets the account do what it does with a resource."""
        group, verbs = RIGHTS[resource]
        wanted = {"group": group, "resource": resource, "verb": verbs[-1]}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": wanted},
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(self._plane.ask("POST", path, review)["status"]["allowed"])

    def throttle(self) -> None:
        """Have the server refuse every request of the account with 429.

        It gets a level with one seat, which a request takes that never comes to its end.
        https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
        """
        none = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
        limited = {**none, "limitResponse": {"type": "Reject"}}
        level = {**self._named(), "spec": {"type": "Limited", "limited": limited}}
        self._plane.ask("POST", f"{FLOW}/prioritylevelconfigurations", level)
        account = {"name": self.name, "namespace": "default"}
        everything: Json = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        rule = {
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
            "resourceRules": [{**everything, "clusterScope": True, "namespaces": ["*"]}],
        }
        spec = {
            "priorityLevelConfiguration": {"name": self.name},
            "matchingPrecedence": 2,
            "rules": [rule],
        }
        self._plane.ask("POST", f"{FLOW}/flowschemas", {**self._named(), "spec": spec})
        eventually(self._take_the_seat)

    def _take_the_seat(self) -> bool:
        """Begin a request without sending its body; whether others are refused then."""
        self._close_seat()
        self._seat = self._begun("POST", {"Content-Length": "100"})
        with closing(self._begun("GET", {})) as other:
            return other.getresponse().status == 429

    def _begun(self, verb: str, fields: Mapping[str, str]) -> http.client.HTTPSConnection:
        where = urlsplit(self._plane.url)
        tls = ssl.create_default_context(cafile=self._plane.ca_file)
        connection = http.client.HTTPSConnection(
            str(where.hostname), where.port, timeout=30, context=tls
        )
        connection.putrequest(verb, "/api/v1/namespaces/default/events")
        authorization = {"Authorization": f"Bearer {self.token.read_text()}"}
        for key, value in {**authorization, **fields}.items():
            connection.putheader(key, value)
        connection.endheaders()
        return connection

    def _close_seat(self) -> None:
        if self._seat is not None:
            self._seat.close()

    def release(self) -> None:
        """Let the server answer again."""
        self._close_seat()
        for kind in ("flowschemas", "prioritylevelconfigurations"):
            self._plane.ask("DELETE", f"{FLOW}/{kind}/{self.name}")

    def _make(self) -> None:
        self._plane.ask("POST", ACCOUNTS, self._named())

    def _named(self) -> Json:
        return {"metadata": {"name": self.name}}

    def _rules(self, without: tuple[str, ...]) -> list[Json]:
        return [
            {"apiGroups": [group], "resources": [resource], "verbs": verbs}
            for resource, (group, verbs) in RIGHTS.items()
            if resource not in without
        ]
