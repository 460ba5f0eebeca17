"""What made a pod and would make another in its place: its controller.

https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
"""

from itertools import islice

from numa_agent.core.documents import items, mapping, text

_MOST_OWNERS = 64
_KIND_LENGTH, _NAME_LENGTH = 63, 253
"""Longer ones no API server takes; a pod costs no more memory where another one does."""


def controller_of(owners: object) -> str | None:
    """Kind and name of the controller among metadata.ownerReferences: `ReplicaSet/web-5d6`.

    The server lets there be one at most.
    """
    for owner in islice(map(mapping, items(owners)), _MOST_OWNERS):
        kind, name = text(owner.get("kind")), text(owner.get("name"))
        if owner.get("controller") is True and kind is not None and name is not None:
            return f"{kind[:_KIND_LENGTH]}/{name[:_NAME_LENGTH]}"
    return None
