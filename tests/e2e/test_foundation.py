"""What the scenarios stand on: a guest that hangs isn't a product that fails."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.e2e import conftest
from tests.e2e.bench.cgroups import Layout
from tests.e2e.bench.guest import Guest, GuestHungError, free_address
from tests.e2e.bench.kernel import Kernel


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Stands in for QEMU's."""
    with subprocess.Popen(["sleep", "60"]) as running:
        yield running
        running.kill()


@pytest.fixture
def guest(tmp_path: Path, process: subprocess.Popen[bytes]) -> Guest:
    """A guest that was last heard of at second 7."""
    made = Guest(
        name="127.0.0.1",
        folder=tmp_path,
        kernel=Kernel(image=tmp_path, initramfs=tmp_path),
        plane=cast("Any", None),
        programs=tmp_path,
        hung_seconds=0.5,
        _qemu=process,
    )
    made.share.mkdir()
    (made.share / "beat").write_text("7")
    (made.folder / "console").write_text("rcu: INFO: rcu_preempt detected stalls")
    return made


def test_a_guest_that_is_silent_hangs_and_its_console_is_shown(guest: Guest) -> None:
    with pytest.raises(GuestHungError, match=r"last heard of at 7\n.*detected stalls"):
        guest.check_alive()


def test_a_cpu_that_stands_still_is_counted_by_the_kernel_s_word(guest: Guest) -> None:
    assert guest.stuck == 0
    lockup = "[  308.8] watchdog: BUG: soft lockup - CPU#{} stuck for 22s! [containerd-shim:411]\n"
    (guest.folder / "console").write_text(lockup.format(4) + "rcu: INFO\n" + lockup.format(1))
    assert guest.stuck == 2
    (guest.folder / "console").unlink()
    assert guest.stuck == 0


def test_a_guest_that_goes_on_is_well_however_slow_its_product(guest: Guest) -> None:
    guest.hung_seconds = 60
    over = Event()

    def beat() -> None:
        for second in count(8):
            (guest.share / "beat").write_text(str(second))
            if over.wait(0.1):
                return

    with ThreadPoolExecutor(1) as pool:
        beating = pool.submit(beat)
        try:
            guest.check_alive()
        finally:
            over.set()
        beating.result()


def test_a_guest_whose_qemu_has_ended_hangs_at_once(
    guest: Guest, process: subprocess.Popen[bytes]
) -> None:
    guest.hung_seconds = 60
    process.kill()
    process.wait(10)
    with pytest.raises(GuestHungError):
        guest.check_alive()


def test_a_guest_that_was_switched_off_is_well(guest: Guest) -> None:
    assert guest.on
    guest.stop()
    assert not guest.on
    guest.check_alive()


class Scenario:
    """A scenario that fails `times` times as `error` says, and a bench that counts its boots.

    At each a CPU of its guest has stood still `stands` times more.
    """

    def __init__(
        self, times: int, error: type[Exception] = GuestHungError, stands: int = 0
    ) -> None:
        self.runs = self.boots = self._stuck = 0
        self._times, self._error, self._stands = times, error, stands
        stash = {conftest.BENCH: self}
        self.item = SimpleNamespace(
            config=SimpleNamespace(stash=stash),
            get_closest_marker=lambda _: True,
            obj=self.run,
            funcargs={},
            _fixtureinfo=SimpleNamespace(argnames=()),
        )

    def boot_again(self) -> None:
        self.boots += 1

    def stuck(self) -> int:
        return self._stuck

    def run(self) -> None:
        self.runs += 1
        if self.runs <= self._times:
            self._stuck += self._stands
            raise self._error


def test_a_scenario_whose_guest_hangs_is_run_once_more() -> None:
    scenario = Scenario(times=1)
    assert conftest.pytest_pyfunc_call(cast("Any", scenario.item))
    assert (scenario.runs, scenario.boots) == (2, 1)


def test_a_scenario_that_fails_while_a_cpu_stands_still_is_run_once_more() -> None:
    scenario = Scenario(times=1, error=AssertionError, stands=1)
    assert conftest.pytest_pyfunc_call(cast("Any", scenario.item))
    assert (scenario.runs, scenario.boots) == (2, 1)


def test_a_scenario_that_fails_on_a_guest_that_goes_on_fails() -> None:
    scenario = Scenario(times=1, error=AssertionError)
    with pytest.raises(AssertionError):
        conftest.pytest_pyfunc_call(cast("Any", scenario.item))
    assert (scenario.runs, scenario.boots) == (1, 0)


def test_a_scenario_whose_guest_hangs_twice_fails() -> None:
    scenario = Scenario(times=2)
    with pytest.raises(GuestHungError):
        conftest.pytest_pyfunc_call(cast("Any", scenario.item))
    assert (scenario.runs, scenario.boots) == (2, 1)


def test_guests_have_addresses_of_the_loopback_network() -> None:
    assert free_address().startswith("127.")


UID = "0f5c6d1a-1111-4222-8333-444444444444"


@pytest.mark.parametrize(
    ("layout", "kind", "path"),
    [
        (Layout(), "Guaranteed", f"kubepods/pod{UID}/c1"),
        (Layout(version="v1"), "Burstable", f"cpuset/kubepods/burstable/pod{UID}/c1"),
        (
            Layout(driver="systemd"),
            "Guaranteed",
            f"kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-c1.scope",
        ),
        (
            Layout(driver="systemd"),
            "BestEffort",
            "kubepods.slice/kubepods-besteffort.slice/"
            f"kubepods-besteffort-pod{UID.replace('-', '_')}.slice/cri-containerd-c1.scope",
        ),
    ],
)
def test_a_container_is_where_kubelet_and_containerd_put_it(
    layout: Layout, kind: str, path: str
) -> None:
    statuses = [{"name": "app", "containerID": "containerd://c1"}]
    status = {"qosClass": kind, "containerStatuses": statuses}
    manifest = {"metadata": {"uid": UID}, "status": status}
    assert layout.container(manifest, "app") == f"/sys/fs/cgroup/{path}"
