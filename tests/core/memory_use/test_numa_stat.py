"""memory.numa_stat as the kernel prints it, v2 and v1."""

import pytest

from numa_agent.core.memory_use import (
    MemorySource,
    parse_numa_maps,
    parse_v1,
    parse_v2,
    together,
    with_hugepages,
)

# Printed by Linux 6.1 for a container that touched 32 MiB of its own and 4 MiB of /dev/shm.
V2 = b"""anon N0=33628160 N1=0
file N0=5242880 N1=4096
kernel_stack N0=16384 N1=0
pagetables N0=131072 N1=0
shmem N0=4194304 N1=0
file_mapped N0=1212416 N1=0
inactive_anon N0=37822464 N1=0"""

V1 = b"""total=9232 N0=9231 N1=1
file=1025 N0=1024 N1=1
anon=8207 N0=8207 N1=0
unevictable=0 N0=0 N1=0
hierarchical_total=10257 N0=10255 N1=2
hierarchical_file=1026 N0=1024 N1=2
hierarchical_anon=9231 N0=9231 N1=0
hierarchical_unevictable=0 N0=0 N1=0"""


def test_v2_tells_shared_memory_apart_from_files() -> None:
    use = parse_v2(V2.split(b"\n"))
    assert use.own == {0: 33628160 + 4194304, 1: 0}
    assert use.cache == {0: 5242880 - 4194304, 1: 4096}
    assert use.source is MemorySource.CGROUP


def test_v1_is_in_pages_and_counts_what_is_below() -> None:
    use = parse_v1(V1.split(b"\n"), 4096)
    assert (use.own, use.cache) == ({0: 9231 * 4096, 1: 0}, {0: 1024 * 4096, 1: 2 * 4096})


def test_v1_without_its_hierarchy_is_the_cgroup_s_own() -> None:
    lines = V1.split(b"\n")[:4]
    assert parse_v1(lines, 65536).own == {0: 8207 * 65536, 1: 0}


def test_v1_has_locked_memory_on_a_list_of_its_own() -> None:
    # Of a process that has locked all that it has (mlockall(2)) the other lists are empty.
    text = (
        b"total=5 N0=1 N1=4\nfile=0 N0=0 N1=0\nanon=0 N0=0 N1=0\nunevictable=5 N0=1 N1=4\n"
        b"hierarchical_anon=2 N0=2 N1=0\nhierarchical_file=0 N0=0 N1=0\n"
        b"hierarchical_unevictable=9 N0=1 N1=8"
    )
    assert parse_v1(text.split(b"\n"), 4096).own == {0: 3 * 4096, 1: 8 * 4096}
    assert parse_v1(text.split(b"\n")[:4], 4096).own == {0: 4096, 1: 4 * 4096}


def test_hugepages_are_in_files_of_their_own_by_size() -> None:
    use = parse_v2(V2.split(b"\n"))
    assert not use.hugepages
    files = [[b"total=2097152 N0=0 N1=2097152"], [b"total=0 N0=0 N1=0"]]
    more = with_hugepages(use, files)
    assert (more.own, more.cache) == ({0: 33628160 + 4194304, 1: 2097152}, use.cache)
    assert more.hugepages
    assert with_hugepages(use, []) == use
    both = together([more, use])
    assert both is not None
    assert not both.hugepages


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        # As Linux 6.1 and 6.12 print it after pages have been moved from node 1 to node 0 ...
        (b"total=25165824 N0=0 N1=25165824", frozenset({0})),
        # ... after they have been freed there, and after some have been taken anew.
        (b"total=0 N0=18446744073684385792 N1=25165824", None),
        (b"total=0 N0=18446744073684385792 N1=25165824", frozenset({0, 1})),
        (b"total=31457280 N0=6291456 N1=25165824", frozenset({0})),
    ],
)
def test_hugepages_that_were_moved_are_counted_where_they_were(
    text: bytes, allowed: frozenset[int] | None
) -> None:
    use = parse_v2(V2.split(b"\n"))
    assert with_hugepages(use, [[text]], lambda: allowed) == use
    # What is known of another size stays, but it isn't all.
    more = with_hugepages(use, [[text], [b"total=2097152 N0=2097152 N1=0"]], lambda: allowed)
    assert more.own == {0: use.own[0] + 2097152, 1: use.own.get(1, 0)}
    assert not more.hugepages


def test_nobody_asks_for_the_allowed_nodes_where_there_are_no_hugepages() -> None:
    def never() -> frozenset[int]:
        raise AssertionError

    use = with_hugepages(parse_v2(V2.split(b"\n")), [[b"total=0 N0=0 N1=0"]], never)
    assert use.hugepages


@pytest.mark.parametrize("text", [b"", b"2097152", b"total=2097152 N0=x", b"other=0 N0=0"])
def test_a_damaged_file_of_hugepages_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"numa_stat|number for each node"):
        with_hugepages(parse_v2(V2.split(b"\n")), [text.split(b"\n")])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"anon",
        b"anon N0=1",
        b"anon N0=x\nfile N0=1",
        b"file N0=1",
        b"anon N0=-1\nfile",
        b"anon N0=18446744073709547520\nfile N0=1",
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"numa_stat|number for each node"):
        parse_v2(text.split(b"\n"))


def test_a_page_table_s_files_are_nobody_s_own_but_shared_memory_is() -> None:
    lines = [
        b"55d0 default file=/usr/bin/python3.11 mapped=12 N0=12 kernelpagesize_kB=4",
        b"7f10 default file=/usr/lib/libc.so.6 anon=2 dirty=2 mapped=30 N0=10 N1=20"
        b" kernelpagesize_kB=4",
        b"7f20 default heap anon=16 dirty=16 N1=16 kernelpagesize_kB=4",
        b"7f30 bind:0 anon=2 dirty=2 N0=2 kernelpagesize_kB=2048",
        b"7f40 default file=/dev/shm/nccl-1 dirty=8 N0=8 kernelpagesize_kB=4",
        b"7f50 default file=/memfd:x\\040(deleted) dirty=4 N1=4 kernelpagesize_kB=4",
        b"7f60 default file=/dev/hugepages/rtemap_0 huge dirty=3 N1=3 kernelpagesize_kB=2048",
        b"7f70 default file=/anon_hugepage\\040(deleted) huge anon=1 dirty=1 N1=1"
        b" kernelpagesize_kB=1048576",
        b"7ffd default",
    ]
    use = parse_numa_maps(lines)
    huge = (3 << 21) + (1 << 30)
    assert use.own == {0: (2 * 2048 + 8 * 4) * 1024, 1: (16 + 4) * 4096 + huge}
    assert use.hugepages
    assert use.cache == {0: 22 * 4096, 1: 20 * 4096}
    assert use.source is MemorySource.MAPS


def test_uses_add_up_and_nothing_is_nothing() -> None:
    use = parse_v2(V2.split(b"\n"))
    both = together([use, use])
    assert both is not None
    assert both.own[0] == 2 * use.own[0]
    assert together([]) is None
