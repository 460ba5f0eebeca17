"""Whose language is spoken: the one place that knows them all."""

from collections.abc import Callable
from dataclasses import dataclass

from numa_agent.core.publishing import Adopt
from numa_agent.core.schedulers import ack, koordinator, kube_scheduler
from numa_agent.core.view import Rendering, View

_COMPANIONS = frozenset({"koord-manager"})
"""Koordinator's own controller adds its resources to the zones of this object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What a scheduler is told, what of the live object is kept, and who may write beside us."""

    publish: Callable[[View], Rendering]
    adopt: Adopt
    companions: frozenset[str]


def language(scheduler: str) -> Language:
    """The language of a scheduler of config.SCHEDULERS."""
    if scheduler == "koordinator":
        return Language(
            publish=koordinator.publish,
            adopt=koordinator.adopt,
            companions=_COMPANIONS,
        )
    if scheduler == "ack":
        return Language(publish=ack.publish, adopt=ack.adopt, companions=_COMPANIONS)
    return Language(
        publish=kube_scheduler.publish, adopt=kube_scheduler.adopt, companions=frozenset()
    )
