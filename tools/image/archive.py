"""`python -m tools.image.archive ARCHIVE`: what an image's OCI archive holds.

Format: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
"""

import gzip
import io
import json
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

_MIB = 1 << 20
_BILL = "opt/numa-agent/sbom.cdx.json"


def layers(archive: Path) -> list[bytes]:
    """Return the image's layers as they are stored, lowest first."""
    with tarfile.open(archive) as tar:

        def blob(descriptor: dict[str, Any]) -> bytes:
            file = tar.extractfile("blobs/" + descriptor["digest"].replace(":", "/"))
            assert file is not None
            return file.read()

        index = tar.extractfile("index.json")
        assert index is not None
        manifest = json.loads(blob(json.load(index)["manifests"][0]))
        return [blob(layer) for layer in manifest["layers"]]


def unpacked(layer: bytes) -> bytes:
    """Return the layer as a tar file."""
    return gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer


def part_of(name: str) -> str:
    """Return which part of the image a file belongs to."""
    path = name.lstrip("./")
    if "/site-packages/" in path:
        top = path.split("/site-packages/")[1].split("/")[0]
        return top.split("-")[0].split(".")[0]
    if "/lib-dynload/" in path:
        return "Python's extension modules"
    if ".so" in path:
        return "libraries in C"
    return "Python and its modules" if "python3" in path else "the rest"


def main(archive: Path) -> None:
    """Print the sizes and put the bill of materials beside the archive."""
    parts: Counter[str] = Counter()
    stored = layers(archive)
    for layer in stored:
        with tarfile.open(fileobj=io.BytesIO(unpacked(layer))) as tar:
            for member in tar:
                parts[part_of(member.name)] += member.size
                if member.name.endswith(_BILL) and (file := tar.extractfile(member)):
                    archive.with_suffix(".cdx.json").write_bytes(file.read())
    packed = sum(map(len, stored)) / _MIB
    print(f"{archive}: {packed:.1f} MiB compressed, {parts.total() / _MIB:.1f} MiB unpacked")
    for part, size in parts.most_common(16):
        print(f"  {size / _MIB:6.1f} MiB  {part}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
