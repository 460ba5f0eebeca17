"""`python -m tools.image.wheels FOLDER ARCH BUILDER_ARCH VERSION`: fetch what the build installs.

So the build itself needs no network; pip checks the hashes when it fetches and when it installs.
"""

import sys
from pathlib import Path

from tools.image.modules import pip, pip_target_options


def main(folder: str, arch: str, builder_arch: str, version: str) -> None:
    """Fetch the agent's packages for ARCH and those of the build for BUILDER_ARCH."""
    here = Path(__file__).parent
    for requirements, processor in (
        (here.parents[1] / "requirements.txt", arch),
        (here / "requirements-build.txt", builder_arch),
    ):
        options = [*pip_target_options(processor, version), "--no-deps", "--require-hashes"]
        pip("download", *options, f"--dest={folder}", "-r", str(requirements))


if __name__ == "__main__":
    main(*sys.argv[1:5])
