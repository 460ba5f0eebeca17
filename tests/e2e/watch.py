"""What the kernel held a pod's cgroups to while something happened to it."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.guest import Guest

LOOK = """\
turn=0
while [ ! -e {file}.end ] && [ $turn -lt 6000 ]; do
    for each in {group}/cpuset.cpus.effective {group}/*/cpuset.cpus.effective; do
        read -r now <$each && echo "$now"
    done
    turn=$((turn + 1))
    sleep 0.05
done 2>/dev/null | sort | uniq -c >{file}.part
mv {file}.part {file}
"""
"""Counts the sets in force in a pod's cgroup and in those of its containers, about ten times a
second and ten minutes at most."""


@contextmanager
def watched(node: Guest, group: str) -> Iterator[dict[str, int]]:
    """Fill the dictionary, once the block is over, with how often each set of CPUs was seen.

    `group` is the folder of a pod's cgroup (`cluster.group`).
    """
    seen: dict[str, int] = {}
    file = f"/run/watch-{secrets.token_hex(4)}"
    script = LOOK.format(group=group, file=file)
    node.run(f"({script}) >/dev/null 2>&1 &")
    try:
        yield seen
    finally:
        said = node.run(f"touch {file}.end; while [ ! -e {file} ]; do sleep 0.1; done; cat {file}")
        for line in said.splitlines():
            count, cpus = line.split()
            seen[cpus] = int(count)
