"""One cluster for all scenarios, and what becomes of those that fail."""

import re
import shutil
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.apiserver import control_plane as planes
from tests.e2e.bench import images
from tests.e2e.bench.bench import Bench
from tests.e2e.bench.guest import Guest, GuestHungError
from tests.e2e.cluster import Cluster
from tests.vm.kernel import SEARCH_PATH, missing_packages

HERE = Path(__file__).parent
TEST_SECONDS = 600
BENCH = pytest.StashKey[Bench]()
"""The one that is up."""
EVERY = pytest.StashKey[list[Bench]]()
"""All of this run, in their order."""

COMMANDS = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "crun": "crun"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the scenarios out unless they are asked for: by `-m e2e`, `-m smoke` or by their path.

    Each gets the time that it takes to run twice, with the guest booted anew between.
    """
    named = [Path(each.split("::")[0]).resolve() for each in config.args]
    marked = any(mark in config.option.markexpr for mark in ("e2e", "smoke"))
    if marked or any(HERE in (path, *path.parents) for path in named):
        for item in items:
            if item.get_closest_marker("e2e") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))
        return
    if left := [item for item in items if item.get_closest_marker("e2e")]:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("e2e")]


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The whole of it; skips where it can't be had.

    A module that needs another than most gives its class, by `parametrize` with `indirect`: the
    one before ends first, so that there is never more than one guest.
    """
    reasons = [planes.missing() or "", *map("Debian's {}".format, missing_packages())]
    reasons += images.missing()
    reasons += [
        f"Debian's {package}"
        for command, package in COMMANDS.items()
        if shutil.which(command, path=SEARCH_PATH) is None
    ]
    if not Path("/usr/lib/cni/ptp").exists():
        reasons.append("Debian's containernetworking-plugins")
    if any(reasons):
        pytest.skip(f"a whole node needs {', '.join(filter(None, reasons))}")
    made: Bench = getattr(request, "param", Bench)()
    request.config.stash[BENCH] = made
    request.config.stash.setdefault(EVERY, []).append(made)
    with made:
        yield made


@pytest.fixture
def cluster(bench: Bench) -> Iterator[Cluster]:
    """The cluster, in which what a scenario applies is deleted when it is over.

    Everything is available before, as the agent says soon after it is ready, and then again.
    """
    try:
        bench.cluster.until("every CPU is available", bench.cluster.idle)
    except GuestHungError:
        bench.boot_again()
    yield bench.cluster
    try:
        bench.cluster.clean()
        bench.cluster.until("every CPU is available again", bench.cluster.idle)
    except GuestHungError:
        bench.boot_again()


@pytest.fixture
def node(cluster: Cluster) -> Guest:
    """The guest that the cluster's pods run on."""
    return cluster.node


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a scenario once more on a fresh guest if its guest hung: that says nothing of it.

    So does one that failed while a CPU of the guest stood still.
    """
    made = pyfuncitem.config.stash.get(BENCH, None)
    if made is None or not pyfuncitem.get_closest_marker("e2e"):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    scenario = partial(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names})
    stuck = made.stuck()
    try:
        scenario()
    except Exception as error:
        if not isinstance(error, GuestHungError) and made.stuck() <= stuck:
            raise
        made.boot_again()
        scenario()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Collect what tells why, before anything is cleaned up."""
    report = yield
    made = item.config.stash.get(BENCH, None)
    if made is not None and report.failed:
        made.leave_evidence(re.sub(r"\W+", "-", item.name))
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how long each phase took, and where to look after a failure."""
    for made in config.stash.get(EVERY, []):
        terminalreporter.section("the whole node")
        for phase, seconds in made.seconds.items():
            terminalreporter.line(f"{seconds:7.1f} s  {phase}")
        terminalreporter.line(f"guests that hung and were booted once more: {made.reboots}")
        for folder in made.failed:
            terminalreporter.line(f"logs, objects and the recorded machine: {folder}")
