"""The map of this machine with an NVML library: arguments are the library and its answers."""

import contextlib
import io
import os
import sys

from numa_agent.cli import main as numa_agent


def main() -> None:
    """Print the map as JSON."""
    library, os.environ["FAKE_NVML_FILE"] = sys.argv[1:]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        numa_agent(["topology", "--nvml", library, "-o", "json"])
    print(printed.getvalue())


if __name__ == "__main__":
    main()
