"""An overlay of the manifests as docs/install.md has users write it."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.bench.images import AGENT

NAME = "numa-agent"
"""Of the image in the manifests, of the ConfigMap and of its namespace."""


def write(
    folder: Path,
    manifests: Path,
    base: str,
    tag: str,
    *,
    components: Sequence[str] = (),
    settings: str = "",
) -> None:
    """Write a kustomization of one of the overlays and components below `manifests`.

    It names the image with its tag, and has these lines of settings beside the base's.
    """

    def there(*parts: str) -> str:
        return os.path.relpath(manifests.joinpath(*parts), folder)

    content: dict[str, object] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [there("overlays", base)],
        "components": [there("components", name) for name in components],
        "images": [{"name": NAME, "newName": AGENT, "newTag": tag}],
    }
    if settings:
        text = (manifests / "base" / "config.yaml").read_text() + settings
        content["configMapGenerator"] = [
            {
                "name": NAME,
                "namespace": NAME,
                "behavior": "merge",
                "literals": [f"config.yaml={text}"],
            }
        ]
        content["generatorOptions"] = {"disableNameSuffixHash": True}
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_text(json.dumps(content))
