"""How long a watch waits for what."""

from dataclasses import dataclass, field

from numa_agent.core.backoff import BackOff


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds.

    A watch is asked for `watch` to twice that long, after which the server ends it, as client-go
    does it. A stream is silent when no line came for `silence`: kube-apiserver sends a bookmark
    every minute or two, measured on 1.36. `answer` is the wait for the head of an answer and for
    each part of a list, `whole` for all of a list.

    After a failure the pods count as those of now for `grace`. A failure that has lasted for
    `outage` ends in a new list: so long a time is enough to restore an etcd, whose
    resourceVersions may by then have passed ours. A stream that lived for `healthy` ends a row of
    failures. Who asks for the pods waits for the first list for `first`.
    """

    watch: float = 300.0
    silence: float = 150.0
    answer: float = 30.0
    whole: float = 60.0
    grace: float = 5.0
    outage: float = 60.0
    healthy: float = 10.0
    first: float = 1.0
    back_off: BackOff = field(default_factory=BackOff)
