"""Calls fail as they are told to, and otherwise do what the kernel does."""

import errno
from pathlib import Path

import pytest

from tests.kernel.faults import Call, Fault, Faults
from tests.kernel.kernel import Kernel
from tests.kernel.machines import boot

TABLE = (
    *(errno.ENOENT, errno.ENODEV, errno.EACCES, errno.EBUSY, errno.ENOSPC, errno.EINVAL),
    *(errno.ERANGE, errno.EOVERFLOW, errno.EPERM, errno.EROFS, errno.EINTR, errno.EAGAIN),
)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    kernel = boot(tmp_path)
    kernel.mkdir("pod")
    return kernel


def attempt(faults: Faults, path: Path) -> int:
    """0, or the errno that a write of `1` to a file gives."""
    try:
        faults.put(path, "1")
    except OSError as error:
        return error.errno or 0
    return 0


@pytest.mark.parametrize("error", TABLE)
@pytest.mark.parametrize("call", ["open", "write"])
def test_a_fault_happens_as_often_as_it_is_told_to(call: Call, error: int, kernel: Kernel) -> None:
    file = kernel.root / "pod/cpuset.cpus"
    faults = Faults(kernel, Fault(call=call, path="*/cpuset.cpus", error=error, times=2))
    assert [attempt(faults, file) for _ in range(3)] == [error, error, 0]
    assert file.read_text() == "1\n"


@pytest.mark.parametrize("call", ["open", "write"])
def test_a_fault_for_ever_leaves_the_file_as_it_is(call: Call, kernel: Kernel) -> None:
    file = kernel.root / "pod/cpuset.cpus"
    fault = Fault(call=call, error=errno.EROFS)
    faults = Faults(kernel, fault)
    assert [attempt(faults, file) for _ in range(5)] == [errno.EROFS] * 5
    assert file.read_text() == "\n"
    assert faults.tripped == [fault] * 5


def test_a_fault_leaves_other_files_alone(kernel: Kernel) -> None:
    faults = Faults(kernel, Fault(call="write", path="pod/cpuset.mems", error=errno.EIO))
    assert attempt(faults, kernel.root / "pod/cpuset.cpus") == 0
    assert attempt(faults, kernel.root / "pod/cpuset.mems") == errno.EIO


def test_the_kernels_own_refusals_stay(kernel: Kernel) -> None:
    faults = Faults(kernel)
    assert attempt(faults, kernel.root / "pod/cpuset.cpus.effective") == errno.EINVAL
    assert attempt(faults, kernel.root / "nothing/cpuset.cpus") == errno.ENOENT


def test_reading_fails_too(kernel: Kernel) -> None:
    faults = Faults(kernel, Fault(call="read", error=errno.ENODEV, times=1))
    with pytest.raises(OSError, match="No such device"):
        faults.get(kernel.root / "pod/cpuset.cpus")
    assert faults.get(kernel.root / "pod/cpuset.cpus.effective") == "0-7\n"
