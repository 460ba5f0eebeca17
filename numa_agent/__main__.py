"""`python -m numa_agent`, the same as the command `numa-agent`."""

import sys

from numa_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
