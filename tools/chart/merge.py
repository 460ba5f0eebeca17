"""Kubernetes' strategic merge, as far as the manifests' patches use it.

https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
"""

from typing import Any

Json = dict[str, Any]

_KEYS = {"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}
"""Lists of a pod that are merged entry by entry, and what tells their entries apart."""


def merge(base: Json, patch: Json) -> Json:
    """The base with the patch's values; lists without a key are replaced."""
    merged = dict(base)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = merge(base[key], value)
        elif key in _KEYS and key in base:
            merged[key] = _joined(base[key], value, _KEYS[key])
        else:
            merged[key] = value
    return merged


def _joined(base: list[Json], patch: list[Json], key: str) -> list[Json]:
    patches = {entry[key]: entry for entry in patch}
    joined = [merge(entry, patches.pop(entry[key], {})) for entry in base]
    return [*joined, *patches.values()]
