"""The metadata of an object that is named like its Node and goes with it."""

from collections.abc import Mapping

from numa_agent.core.node import Node
from numa_agent.core.view import Json


def metadata(node: Node, labels: Mapping[str, str]) -> Json:
    """Name, labels and the owner: the cluster removes the object with the Node and never earlier.

    A node whose uid isn't known owns nothing.
    """
    found: Json = {"name": node.name}
    if labels:
        found["labels"] = dict(sorted(labels.items()))
    if node.uid is not None:
        found["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Node",
                "name": node.name,
                "uid": node.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return found
