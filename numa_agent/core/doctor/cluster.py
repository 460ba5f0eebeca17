"""The API server: whether it answers, what we may do there, and who else writes our objects.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from numa_agent.core.doctor.check import Check
from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule, Weight
from numa_agent.core.doctor.rights import EVENTS

MOST_SKEW = 10.0
"""Seconds: the Date header counts whole ones, and a busy server answers late."""

_ACCOUNT = "system:serviceaccount:"
_ACCESS = (
    "https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access"
)

UNREACHABLE = Rule(
    code="api-server-unreachable",
    weight=Weight.FAULT,
    costs="pods' assignments aren't seen and nothing is published; what is bound stays bound",
    source="https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/",
)
RIGHT_MISSING = Rule(
    code="right-missing",
    weight=Weight.FAULT,
    costs="a part of the agent's work is refused",
    source=_ACCESS,
)
NO_EVENTS = Rule(
    code="right-for-events-missing",
    weight=Weight.WARNING,
    costs="what goes wrong isn't told at the pod and the Node",
    source=_ACCESS,
)
SOMEBODY = Rule(
    code="asked-as-somebody-else",
    weight=Weight.NOTE,
    costs="the rights looked at are this user's, and not those of the agent's ServiceAccount",
    source=_ACCESS,
)
NO_KIND = Rule(
    code="crd-missing",
    weight=Weight.FAULT,
    costs="nothing of this kind can be published",
    source="https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/custom-resources/",
)
RIVAL = Rule(
    code="second-publisher",
    weight=Weight.WARNING,
    costs="we stand back from an object that another publisher writes, so that the scheduler"
    " reads its numbers; with takeover both write it in turn",
    source="https://kubernetes.io/docs/reference/using-api/server-side-apply/",
)
CLOCK = Rule(
    code="clock-skewed",
    weight=Weight.WARNING,
    costs="tokens and certificates are refused once it grows, and times in Events and heartbeats"
    " mislead",
    source="https://www.rfc-editor.org/rfc/rfc9110#field.date",
)
OTHER_NODE = Rule(
    code="node-is-another-machine",
    weight=Weight.FAULT,
    costs="the agent would bind and publish by another machine's pods; it refuses to",
    source="https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/",
)


def _reachable(seen: Examination) -> Results:
    if seen.cluster.unreachable is not None:
        yield UNREACHABLE.found(
            "API server",
            seen.cluster.unreachable,
            "follow the message; kubectl get --raw /readyz from the same place shows the rest",
        )
    elif seen.cluster.user.value is None:
        yield seen.cluster.user.unseen


def _rights(seen: Examination) -> Results:
    told, user = seen.cluster.rights, seen.cluster.user
    if told.value is None:
        yield told.unseen
        return
    who = user.value or "this user"
    for right, allowed in sorted(told.value.items()):
        if not allowed:
            rule = NO_EVENTS if right in EVENTS else RIGHT_MISSING
            yield rule.found(
                right.label,
                f"{told.source} says that {who} may not {right.label}",
                "kubectl apply -k the overlay of manifests/ that this node's scheduler needs; it"
                " holds the ClusterRole",
            )
    if user.value is not None and not user.value.startswith(_ACCOUNT):
        yield SOMEBODY.found(
            user.value,
            f"the API server takes us for {user.value}",
            "kubectl exec -n numa-agent POD -- numa-agent doctor --config"
            " /etc/numa-agent/config.yaml, in the agent's pod of this node",
        )


def _kinds(seen: Examination) -> Results:
    told = seen.cluster.kinds
    if told.value is None:
        yield told.unseen
        return
    for kind in told.value:
        if not kind.served:
            ours = kind.plural == "noderesourcetopologies"
            yield NO_KIND.found(
                kind.plural,
                f"the API server doesn't serve {kind.plural} in {kind.group_version}",
                "kubectl apply -f manifests/crd/" if ours else "install the scheduler's CRDs",
            )


def _rivals(seen: Examination) -> Results:
    told = seen.cluster.rivals
    if told.value is None:
        yield told.unseen
        return
    for rival in told.value:
        yield RIVAL.found(
            rival.name,
            rival.label,
            "decide who publishes and end the other one; takeover: true takes the object from one"
            " that is gone (docs/publishing.md#a-second-publisher)",
        )


def _clock(seen: Examination) -> Results:
    told = seen.cluster.clock_ahead
    if told.value is None:
        yield told.unseen
    elif abs(told.value) > MOST_SKEW:
        where = "ahead of" if told.value > 0 else "behind"
        yield CLOCK.found(
            "clock",
            f"{abs(told.value):.0f} s {where} the API server's, by {told.source}",
            "chronyc tracking or timedatectl on both machines; mend the one that is off",
        )


def _same_machine(seen: Examination) -> Results:
    node, here = seen.cluster.node, seen.boot_id
    if node.value is None:
        yield node.unseen
    elif here.value is None:
        yield here.unseen
    elif node.value.boot_id not in (None, here.value):
        yield OTHER_NODE.found(
            node.value.name,
            f"its bootID is {node.value.boot_id}, {here.source} is {here.value}",
            "compare --node-name with the Node that this runs on; after a boot, wait for kubelet"
            " to say the new one",
        )


CHECKS = (
    Check(name="api-server", rules=(UNREACHABLE,), look=_reachable),
    Check(name="rights", rules=(RIGHT_MISSING, NO_EVENTS, SOMEBODY), look=_rights),
    Check(name="crds", rules=(NO_KIND,), look=_kinds),
    Check(name="second-publishers", rules=(RIVAL,), look=_rivals),
    Check(name="clock", rules=(CLOCK,), look=_clock),
    Check(name="boot-id", rules=(OTHER_NODE,), look=_same_machine),
)
