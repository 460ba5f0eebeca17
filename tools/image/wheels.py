"""`python -m tools.image.wheels FOLDER ARCH BUILDER_ARCH VERSION`: fetch what the build installs.

So the build itself needs no network; pip checks the hashes when it fetches and when it installs.
"""

import re
import sys
import tempfile
from pathlib import Path

from packaging.markers import Marker

from tools.image.modules import pip, pip_target_options


def main(folder: str, arch: str, builder_arch: str, version: str) -> None:
    """Fetch the agent's packages for ARCH and those of the build for BUILDER_ARCH."""
    here = Path(__file__).parent
    for requirements, processor in (
        (here.parents[1] / "requirements.txt", arch),
        (here / "requirements-build.txt", builder_arch),
    ):
        options = [*pip_target_options(processor, version), "--no-deps", "--require-hashes"]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(for_python(requirements.read_text(), version))
            file.flush()
            pip("download", *options, f"--dest={folder}", "-r", file.name)


def for_python(requirements: str, version: str) -> str:
    """Those of the locked requirements that a Python of this version needs, without conditions.

    pip holds the conditions against the Python that it runs on, whatever --python-version says.
    """
    target = {"python_version": version, "python_full_version": f"{version}.0"}
    kept = []
    for block in re.split(r"^(?=\w)", requirements, flags=re.MULTILINE):
        pin, line_end, hashes = block.partition("\\\n")
        name, _, condition = pin.partition(" ; ")
        if not condition or Marker(condition.strip()).evaluate(target):
            kept.append(f"{name.rstrip()} {line_end}{hashes}" if line_end else block)
    return "".join(kept)


if __name__ == "__main__":
    main(*sys.argv[1:5])
