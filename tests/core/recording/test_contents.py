"""What of a kernel file's bytes is kept, form by form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.cpuinfo import parse as parse_cpu_info
from numa_agent.core.recording import contents
from numa_agent.core.recording.contents import Content
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.core.recording.rules import RULES, is_sound

NAMES = Names(b"key")
NAMES.settle()

WHOLE: list[tuple[Content, bytes]] = [
    (contents.numbers, b"0-3,8\n"),
    (contents.numbers, b"-1\n"),
    (contents.numbers, b""),
    (contents.numbers, b"0-3"),
    (contents.codes, b"0x10de\n"),
    (contents.codes, b"00000000,ffff\n"),
    (contents.size, b"32768K\n"),
    (contents.quota, b"max 100000\n"),
    (contents.quota, b"200000 100000\n"),
    (contents.memory, b"Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 3 kB\n"),
    (contents.allowed, b"Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n"),
    (contents.namespaces, b"NSpid:\t1\t7\n"),
    (contents.gpu_node, b"Node: 3\n"),
    (contents.populated, b"populated 1\n"),
    (contents.numa_stat, b"anon N0=8192 N1=0\nfile N0=4096 N1=4096\n"),
    (contents.numa_stat, b"total=2097152 N0=0 N1=2097152\n"),
    (contents.controllers, b"cpuset cpu io memory pids\n"),
]
REDUCED: list[tuple[Content, bytes, bytes]] = [
    (contents.numbers, b"acme\n", b"xxxx\n"),
    (contents.numbers, b"\xff\xfe\n", b"\xff\xff\n"),
    (contents.numbers, b"1\x002\n", b"1\x002\n"),
    (contents.codes, b"0xghij", b"0xxxxx"),
    (contents.quota, b"max acme\n", b"max xxxx\n"),
    (contents.memory, b"MemTotal: 9 kB\nAcme: 3 kB\nHugePages_Total: 0\n", b"MemTotal: 9 kB\n"),
    (contents.memory, b"acme\n", b"x\n"),
    (contents.memory, b"", b""),
    (contents.allowed, b"Name:\tacme\nCpus_allowed_list:\t1\n", b"Cpus_allowed_list:\t1\n"),
    (contents.controllers, b"cpuset acme\n", b"cpuset\n"),
    (contents.populated, b"populated 0\nfrozen 0\n", b"populated 0\n"),
    (contents.gpu_node, b"Status: acme\nNode: 3\n", b"Node: 3\n"),
    (
        contents.numa_maps,
        b"7f60 default file=/dev/hugepages/acme huge dirty=3 N1=3 kernelpagesize_kB=2048\n",
        b"0 default file=/ huge dirty=3 N1=3 kernelpagesize_kB=2048\n",
    ),
    (
        contents.numa_maps,
        b"7f60 bind:0 file=/usr/lib/huge mapped=3 N1=3 kernelpagesize_kB=4\n",
        b"0 default file=/ N1=3 kernelpagesize_kB=4\n",
    ),
    (
        contents.driver_version,
        b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat (acme)\nGCC: acme\n",
        b"NVRM version: NVIDIA UNIX Kernel Module  535.104.05  \n",
    ),
    (contents.driver_version, b"acme\n", b"x\n"),
]


@pytest.mark.parametrize(("form", "data"), WHOLE)
def test_what_a_file_of_the_kernel_s_says_stays(form: Content, data: bytes) -> None:
    assert form(NAMES, data) == data


@pytest.mark.parametrize(("form", "data", "expected"), REDUCED)
def test_what_else_is_in_it_goes_or_is_masked(form: Content, data: bytes, expected: bytes) -> None:
    assert form(NAMES, data) == expected


@given(st.sampled_from(list(RULES)), st.binary(max_size=60))
def test_any_bytes_have_a_form_and_no_letters_but_the_form_s(form: Content, data: bytes) -> None:
    found = form(NAMES, data)
    assert bool(found) == bool(data) or form in {contents.controllers, contents.boot_id}
    assert b"acme" not in form(NAMES, data + b" acme acme\n").lower()


@given(st.sampled_from(list(RULES)), st.binary(max_size=60))
def test_a_form_keeps_what_it_made(form: Content, data: bytes) -> None:
    if form is not contents.boot_id:
        once = form(Names(b"", keep=True), form(NAMES, data))
        assert once == form(NAMES, data)


CPUINFO = b"""processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model name\t: Intel(R) Xeon(R) Platinum 8480C
siblings\t: 2
cpu cores\t: 1
flags\t\t: fpu acme

processor\t: 1
vendor_id\t: GenuineIntel
siblings\t: 2
cpu cores\t: 1

"""


def test_cpuinfo_keeps_processors_and_what_the_first_is_called() -> None:
    found = contents.cpu_info(NAMES, CPUINFO)
    assert b"acme" not in found
    assert b"family" not in found
    assert parse_cpu_info(found.decode()) == parse_cpu_info(CPUINFO.decode())
    assert found.decode().count("GenuineIntel") == 1
    assert [block.count(b"\n") for block in found.split(b"\n\n")] == [4, 3]


def test_a_list_or_mask_is_sound_only_when_it_can_be_read() -> None:
    sound = (b"0-3\n", b"\n", b"00000000,0000000f\n", b"0\n\0")
    assert [is_sound(data) for data in sound] == [True, True, True, True]
    assert not any(map(is_sound, (b"", b"0-3", b"acme\n", b"3-1\n")))
