"""The kernel and the guests that the tests of this folder boot."""

import platform
from functools import partial

import pytest

from tests.vm.guest import CHECKOUT, RunScript, run_script
from tests.vm.kernel import Kernel, missing_packages, ready


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """The kernel to boot, downloaded if need be; skips where a guest can't be run."""
    if platform.machine() != "x86_64":
        pytest.skip(
            f"the guests are x86-64 and run this interpreter; this is {platform.machine()}"
        )
    if missing := missing_packages():
        pytest.skip(f"needs the Debian packages {' '.join(missing)}")
    return ready(CHECKOUT / ".cache" / "vm")


@pytest.fixture(scope="session")
def guest(kernel: Kernel) -> RunScript:
    """Boots a machine and runs a script of tests/vm/scripts/ in it."""
    return partial(run_script, kernel)


@pytest.fixture(scope="session")
def guest_with_cgroup_v1(kernel: Kernel, guest: RunScript) -> RunScript:
    """`guest`, for machines with cgroup v1; skips if the kernel has no cpuset there."""
    if not kernel.has_cpuset_v1:
        pytest.skip(f"{kernel.folder.name} is built without cpuset for cgroup v1")
    return guest
