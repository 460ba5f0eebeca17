"""The agent, on a folder instead of a kernel: a set that is written replaces what the file held.

    python -m benchmarks.daemon.child ACCOUNT run --config FILE

The kernel takes each write as the whole set, a file keeps what is longer. ACCOUNT is the folder of
its ServiceAccount, "" where a kubeconfig is to be used.
"""

import os
import sys
from pathlib import Path

from numa_agent.cli import main
from numa_agent.cluster import account
from numa_agent.host.cgroups import folder

_write = folder._write_whole


def _replace(fd: int, text: str) -> None:
    os.ftruncate(fd, 0)
    _write(fd, text)


if __name__ == "__main__":
    folder._write_whole = _replace
    folder_of_account = sys.argv.pop(1)
    if folder_of_account:
        account.FOLDER = Path(folder_of_account)
    sys.exit(main())
