"""A kubelet device plugin for whole GPU cards, as values: what is offered, preferred, handed out.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from numa_agent.core.gpu_plugin.cards import Card, LeftOut, Offer, ailing, offered
from numa_agent.core.gpu_plugin.closeness import Closeness, closeness
from numa_agent.core.gpu_plugin.granting import (
    Grant,
    Handing,
    NotGrantedError,
    granted,
    without_files,
)
from numa_agent.core.gpu_plugin.health import Health, Xid
from numa_agent.core.gpu_plugin.preferred import Wish, preferred
from numa_agent.core.gpu_plugin.rivals import healthy, held_elsewhere, rivals

__all__ = [
    "Card",
    "Closeness",
    "Grant",
    "Handing",
    "Health",
    "LeftOut",
    "NotGrantedError",
    "Offer",
    "Wish",
    "Xid",
    "ailing",
    "closeness",
    "granted",
    "healthy",
    "held_elsewhere",
    "offered",
    "preferred",
    "rivals",
    "without_files",
]
