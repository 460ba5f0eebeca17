"""The image's bill of materials, CycloneDX 1.6 JSON: https://cyclonedx.org/docs/1.6/json/

cyclonedx-bom lists the Python packages; the Debian packages and the interpreter are added here.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.image.debian import DebianPackage


def write_sbom(
    site: Path, out: Path, *, packages: list[DebianPackage], python: str | None, version: str
) -> None:
    """Write what `site` holds, the Debian packages and, where it is none's, Python's version.

    The same content gives the same bytes: no time, no serial number.
    """
    lister = site.parent / "list-site"  # cyclonedx-bom asks an interpreter for its path
    lister.write_text(f"#!{sys.executable}\nprint({json.dumps([str(site)])!r})\n")
    lister.chmod(0o755)
    command = [
        *(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"),
        *("--spec-version=1.6", "--output-format=JSON", f"--output-file={out}"),
        str(lister),
    ]
    subprocess.run(command, check=True)
    lister.unlink()
    bill = json.loads(out.read_text())
    text = json.dumps(completed(bill, packages, python, version), indent=1) + "\n"
    _hold_against_schema(text)
    out.write_text(text)


def completed(
    bill: dict[str, Any], packages: list[DebianPackage], python: str | None, version: str
) -> dict[str, Any]:
    """Return the bill with the image itself, the Debian packages and Python, all sorted."""
    components = [*bill.get("components", []), *map(_debian, packages)]
    if python is not None:
        components.append(_component("application", "python", python, f"generic/python@{python}"))
    image = _component("container", "numa-agent", version, f"oci/numa-agent@{quote(version)}")
    metadata = {**bill.get("metadata", {}), "component": image}
    components.sort(key=lambda one: str(one["bom-ref"]))
    return {**bill, "metadata": metadata, "components": components}


def _hold_against_schema(text: str) -> None:
    # Only in the build stage are these installed.
    version = importlib.import_module("cyclonedx.schema").SchemaVersion.V1_6
    validation = importlib.import_module("cyclonedx.validation.json")
    fault = validation.JsonStrictValidator(version).validate_str(text)
    if fault is not None:
        raise SystemExit(f"the bill of materials breaks CycloneDX's schema: {fault}")


def _debian(package: DebianPackage) -> dict[str, Any]:
    # https://github.com/package-url/purl-spec/blob/main/types-doc/deb-definition.md
    version = quote(package.version, safe=":~")
    where = f"deb/debian/{quote(package.name)}@{version}?arch={package.architecture}"
    return _component("library", package.name, package.version, where)


def _component(kind: str, name: str, version: str, where: str) -> dict[str, Any]:
    purl = f"pkg:{where}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}
