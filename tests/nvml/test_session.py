"""NVML over many passes: what is missing is a condition with a hint, and tried again."""

from collections.abc import Callable, Iterable
from ctypes.util import find_library
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from numa_agent.config import CPU_DIR, NODE_DIR, ConfigError
from numa_agent.core.nvml import NvmlAnswers, NvmlCondition
from numa_agent.host.nvml import NOTHING, NvmlSession, live_session
from numa_agent.host.nvml.binding import shadow_condition
from numa_agent.host.nvml.calls import Calls, Key, T
from numa_agent.host.nvml.live import HighestIds
from numa_agent.host.nvml.recorded import RecordedCalls
from numa_agent.host.nvml.session import read_highest_ids, read_mapped
from numa_agent.host.nvml.skew import library_version, mapped_files, module_version, skew
from tests.nvml.answers import one_gpu, recorded, unopened
from tests.nvml.child import Child, child
from tests.nvml.library import NAME, build, write
from tests.recorded import MACHINES, machine

MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
OPEN_MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (a@b)\n"
    "GCC version:  gcc version 12.3.0\n"
)
needs_no_driver = pytest.mark.skipif(
    find_library("nvidia-ml") is not None, reason="this computer has an NVIDIA driver"
)


def mapped(version: str) -> list[str]:
    return ["/usr/lib/libc.so.6", "[heap]", f"/usr/lib64/libnvidia-ml.so.{version}"]


class Machine:
    """A library whose answers a test replaces, and the time at which it is asked."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.seconds = 1000.0
        self.asked: list[float] = []
        self.closed = 0

    def ask(
        self,
        key: Key[T],
        gpu: int | None = None,
        argument: int | None = None,
        mig: int | None = None,
    ) -> T:
        if key.name == "init":
            self.asked.append(self.seconds)
        calls: Calls = RecordedCalls(self.document, "nvml.json")
        return calls.ask(key, gpu, argument, mig)

    def conditions(self) -> tuple[NvmlCondition, ...]:
        return ()

    def close(self) -> None:
        self.closed += 1

    def session(self, versions: Callable[[], str | None] = lambda: None) -> NvmlSession:
        return NvmlSession(self, versions=versions, clock=lambda: self.seconds, jitter=lambda: 0.5)


def refusing(error: str) -> Any:
    return one_gpu() | {"init": {"error": error}}


def find_libc(names: Iterable[str]) -> list[str]:
    return [name for name in names if "libc." in name or "libc-" in name or "ld-musl" in name]


def two_gpus() -> Any:
    return one_gpu() | {"gpus": [{"handle": None, "uuid": "GPU-1"}, {"handle": None}]}


def codes(answers: NvmlAnswers) -> list[str]:
    return [condition.code for condition in answers.conditions]


@pytest.mark.parametrize(
    ("error", "code", "hint"),
    [
        ("LibraryNotFound", "nvml-library-missing", "nvidia runtime class"),
        ("DriverNotLoaded", "nvml-driver-not-loaded", "the kernel module isn't loaded"),
        ("NoPermission", "nvml-no-permission", "/dev/nvidiactl"),
        ("OperatingSystem", "nvml-no-permission", "/dev/nvidiactl"),
        ("NotReady", "nvml-not-ready", "asked again"),
        ("InvalidState", "nvml-not-ready", "asked again"),
        ("GpuNotFound", "nvml-not-ready", "asked again"),
        ("Unknown", "nvml-unknown-error", "missing permission"),
        ("Code31", "nvml-error", "NVRM"),
    ],
)
def test_a_library_that_does_not_start_is_a_condition_and_tried_again(
    error: str, code: str, hint: str
) -> None:
    library = Machine(refusing(error))
    session = library.session()
    answers = session.answers(expected=True)
    (condition,) = answers.conditions
    assert (answers.gpus, condition.code) == ((), code)
    assert condition.message.startswith(f"NVML doesn't answer: {error}; ")
    assert hint in condition.message
    library.document = one_gpu(uuid="GPU-1")
    library.seconds += 5
    assert session.answers(expected=True) == recorded(library.document)


@pytest.mark.parametrize(
    ("error", "code", "hint"),
    [
        ("LibRmVersionMismatch", "nvml-version-mismatch", "restart this process"),
        ("BindingNotFound", "nvml-binding-missing", "install nvidia-ml-py"),
        ("OpenedBeforeFork", "nvml-forked", "start a new process"),
    ],
)
def test_what_this_process_cannot_cure_is_not_tried_again(
    error: str, code: str, hint: str
) -> None:
    library = Machine(refusing(error))
    session = library.session()
    (condition,) = session.answers(expected=True).conditions
    assert condition.code == code
    assert hint in condition.message
    library.document = one_gpu()
    library.seconds += 1e9
    assert codes(session.answers(expected=True)) == [code]
    assert library.asked == [1000.0]


def test_pauses_double_up_to_five_minutes() -> None:
    library = Machine(refusing("DriverNotLoaded"))
    session = library.session()
    for _ in range(2000):
        session.answers(expected=True)
        library.seconds += 1
    pauses = [later - sooner for sooner, later in pairwise(library.asked)]
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300]


def test_the_pause_is_short_again_after_a_success() -> None:
    library = Machine(refusing("DriverNotLoaded"))
    session = library.session()
    for seconds in (0, 5, 10):
        library.seconds += seconds
        session.answers(expected=True)
    library.document = one_gpu()
    library.seconds += 20
    assert codes(session.answers(expected=True)) == []
    library.document = refusing("Unknown")
    session.answers(expected=True)
    asked = len(library.asked)
    library.seconds += 5
    session.answers(expected=True)
    assert len(library.asked) == asked + 1


@pytest.mark.parametrize(("jitter", "pause"), [(0.0, 3.75), (1.0, 6.25)])
def test_the_pause_is_a_quarter_more_or_less(jitter: float, pause: float) -> None:
    library = Machine(refusing("Unknown"))
    session = NvmlSession(library, clock=lambda: library.seconds, jitter=lambda: jitter)
    session.answers(expected=True)
    library.seconds += pause - 0.01
    session.answers(expected=True)
    assert len(library.asked) == 1
    library.seconds += 0.01
    session.answers(expected=True)
    assert len(library.asked) == 2


def test_a_driver_that_goes_away_is_let_go_of_and_tried_again() -> None:
    library = Machine(one_gpu(uuid="GPU-1"))
    session = library.session()
    assert len(session.answers(expected=True).gpus) == 1
    library.document = library.document | {"gpus": {"error": "Uninitialized"}}
    assert codes(session.answers(expected=True)) == ["nvml-not-ready"]
    assert library.closed == 1
    library.document = one_gpu(uuid="GPU-1")
    library.seconds += 5
    assert len(session.answers(expected=True).gpus) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("DriverNotLoaded", "nvml-driver-not-loaded"),
        ("Uninitialized", "nvml-not-ready"),
        ("NotReady", "nvml-not-ready"),
        ("GpuNotFound", "nvml-not-ready"),
        ("InvalidArgument", "nvml-call-refused"),
        ("Timeout", "nvml-timeout"),
        ("NoPermission", "nvml-no-permission"),
        ("Unknown", "nvml-unknown-error"),
        ("Code31", "nvml-error"),
    ],
)
def test_a_driver_that_opens_no_gpu_is_let_go_of_and_opened_anew(error: str, code: str) -> None:
    library = Machine(unopened(one_gpu(), 0, error))
    session = library.session()
    answers = session.answers(expected=True)
    assert answers == recorded(library.document)
    assert codes(answers) == [code]
    assert library.closed == 1
    library.document = one_gpu(uuid="GPU-1")
    library.seconds += 4.9
    assert session.answers(expected=True) == answers
    library.seconds += 0.1
    assert session.answers(expected=True) == recorded(library.document)
    assert (library.asked, library.closed) == ([1000.0, 1005.0], 1)


def test_a_driver_that_opens_no_gpu_is_opened_anew_with_growing_pauses() -> None:
    library = Machine(unopened(one_gpu(), 0, "DriverNotLoaded"))
    session = library.session()
    for _ in range(100):
        session.answers(expected=True)
        library.seconds += 1
    assert [later - sooner for sooner, later in pairwise(library.asked)] == [5, 10, 20, 40]
    assert library.closed == len(library.asked)


@pytest.mark.parametrize("error", ["GpuIsLost", "ResetRequired", "LibRmVersionMismatch"])
def test_what_opening_anew_does_not_cure_leaves_the_driver_open(error: str) -> None:
    library = Machine(unopened(one_gpu(), 0, error))
    session = library.session()
    for _ in range(2):
        assert session.answers(expected=True) == recorded(library.document)
    assert (len(library.asked), library.closed) == (2, 0)


def test_one_gpu_that_opens_keeps_the_driver_open() -> None:
    library = Machine(unopened(two_gpus(), 0, "Unknown"))
    assert codes(library.session().answers(expected=True)) == ["nvml-unknown-error"]
    assert library.closed == 0


def test_a_lost_gpu_does_not_keep_open_a_driver_that_opens_no_other() -> None:
    library = Machine(unopened(unopened(two_gpus(), 0, "GpuIsLost"), 1, "Uninitialized"))
    answers = library.session().answers(expected=True)
    assert [gpu.health for gpu in answers.gpus] == ["lost", None]
    assert codes(answers) == ["nvml-gpu-lost", "nvml-not-ready"]
    assert library.closed == 1


def test_versions_that_differ_are_said_where_no_gpu_opens() -> None:
    library = Machine(unopened(one_gpu(), 0, "Unknown"))
    answers = library.session(lambda: "they differ").answers(expected=True)
    assert [(found.code, found.subject) for found in answers.conditions] == [
        ("nvml-unknown-error", "GPU 0"),
        ("nvml-version-mismatch", "nvml"),
    ]


def test_nothing_is_asked_where_no_gpu_is_expected() -> None:
    library = Machine(refusing("LibraryNotFound"))
    session = library.session()
    assert session.answers(expected=False) == NOTHING
    assert library.asked == []


def test_a_named_library_is_asked_even_where_no_gpu_is_expected() -> None:
    library = Machine(refusing("LibraryNotFound"))
    session = NvmlSession(library, always=True, clock=lambda: library.seconds)
    assert codes(session.answers(expected=False)) == ["nvml-library-missing"]


def test_nvml_that_is_off_says_nothing() -> None:
    session = live_session("off", machine("two-socket-8gpu"))
    assert session.answers(expected=True) == NOTHING
    session.close()


@pytest.mark.parametrize("option", ["", "on", "libnvidia-ml.so.1", "./libnvidia-ml.so.1"])
def test_an_option_that_is_none_is_named(option: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected auto, off or the absolute path"):
        live_session(option, tmp_path)


def test_versions_that_differ_are_in_the_condition() -> None:
    library = Machine(refusing("LibRmVersionMismatch"))
    session = library.session(lambda: skew(OPEN_MODULE, mapped("580.105.08")))
    (condition,) = session.answers(expected=True).conditions
    assert condition.code == "nvml-version-mismatch"
    assert "the kernel module is 580.95.05, the library 580.105.08" in condition.message


def test_versions_that_differ_are_said_beside_another_error() -> None:
    library = Machine(refusing("Unknown"))
    session = library.session(lambda: skew(OPEN_MODULE, mapped("580.105.08")))
    assert codes(session.answers(expected=True)) == [
        "nvml-unknown-error",
        "nvml-version-mismatch",
    ]


def test_the_modules_version_is_in_either_spelling_of_its_file() -> None:
    assert module_version(MODULE) == "535.104.05"
    assert module_version(OPEN_MODULE) == "580.95.05"
    assert module_version("") is None


def test_the_modules_version_is_read_of_every_recorded_machine() -> None:
    texts = [
        (root / "proc/driver/nvidia/version").read_text()
        for root in MACHINES
        if (root / "proc/driver/nvidia/version").exists()
    ]
    assert {module_version(text) for text in texts} == {"580.95.05", "535.261.03"}


MAPS = """\
55a1c0400000-55a1c0401000 r--p 00000000 fd:01 131 /usr/bin/python3.11
55a1c1e3f000-55a1c1e60000 rw-p 00000000 00:00 0                          [heap]
7f00a0000000-7f00a0021000 rw-p 00000000 00:00 0\x20
7f00b0000000-7f00b0028000 r--p 00000000 fd:01 77 /opt/a b/libnvidia-ml.so.580.95.05 (deleted)
7f00b0028000-7f00b0100000 r-xp 00028000 fd:01 77 /opt/a b/libnvidia-ml.so.580.95.05 (deleted)
"""


def test_the_files_of_a_process_are_in_its_map_each_once() -> None:
    assert mapped_files("") == ()
    assert mapped_files(MAPS) == (
        "/usr/bin/python3.11",
        "[heap]",
        "/opt/a b/libnvidia-ml.so.580.95.05",
    )
    assert library_version(mapped_files(MAPS)) == "580.95.05"


def test_a_map_that_cannot_be_read_names_no_file(tmp_path: Path) -> None:
    assert read_mapped(tmp_path / "maps") == read_mapped(tmp_path) == ()
    assert find_libc(read_mapped(Path("/proc/self/maps")))


def test_only_versions_that_are_known_can_differ() -> None:
    assert library_version(mapped("580.95.05")) == "580.95.05"
    assert library_version(mapped("1")) is None
    assert skew(OPEN_MODULE, mapped("580.95.05")) is None
    assert skew(OPEN_MODULE, []) is None
    assert skew("", mapped("580.95.05")) is None


def test_a_library_newer_than_the_module_is_named_with_its_version(
    eight: Any, answers: Path, library: Path, tmp_path: Path
) -> None:
    newer = tmp_path / "libnvidia-ml.so.580.105.08"
    newer.write_bytes(library.read_bytes())
    write(answers, eight | {"init": {"error": "LibRmVersionMismatch"}})
    with child(answers, LD_LIBRARY_PATH="") as process:
        found = process.call("answers_of", str(newer), machine("two-socket-8gpu"))
    (condition,) = found.conditions
    assert condition.code == "nvml-version-mismatch"
    assert "the kernel module is 580.95.05, the library 580.105.08" in condition.message


@needs_no_driver
def test_a_machine_where_the_loader_finds_no_library_has_a_condition(tmp_path: Path) -> None:
    with child(tmp_path / "none", LD_LIBRARY_PATH="") as process:
        answers = process.call("answers_of", "auto", tmp_path)
    assert codes(answers) == ["nvml-library-missing"]


def test_the_binding_is_not_loaded_without_need(tmp_path: Path) -> None:
    with child(tmp_path / "none") as process:
        assert process.call("loaded", "auto") == (NOTHING, False)
        assert process.call("loaded", "off") == (NOTHING, False)


def test_a_driver_that_appears_is_found_by_the_same_session(eight: Any, driver: Child) -> None:
    write(driver.answers, eight | {"init": {"error": "DriverNotLoaded"}})
    assert codes(driver.call("answers_at", 0.0)) == ["nvml-driver-not-loaded"]
    write(driver.answers, eight)
    assert codes(driver.call("answers_at", 4.9)) == ["nvml-driver-not-loaded"]
    assert driver.call("answers_at", 5.0) == recorded(eight)


def test_a_driver_whose_gpus_come_late_is_opened_anew(
    eight: Any, answers: Path, library: Path
) -> None:
    document = eight
    for gpu in range(8):
        document = unopened(document, gpu, "DriverNotLoaded")
    write(answers, document)
    with child(answers, LD_LIBRARY_PATH=str(library.parent)) as process:
        refused = process.call("answers_at", 0.0)
        write(answers, eight)
        assert process.call("answers_at", 4.9) == refused == recorded(document)
        assert process.call("answers_at", 5.0) == recorded(eight)


def test_a_library_is_taken_from_a_path(eight: Any, answers: Path, library: Path) -> None:
    root = machine("two-socket-8gpu")
    with child(answers, LD_LIBRARY_PATH="") as process:
        assert process.call("answers_of", str(library), root) == recorded(eight)
        assert process.call("loaded", str(library)) == (recorded(eight), True)


@needs_no_driver
def test_a_path_that_is_no_library_of_that_name_is_a_condition(
    answers: Path, tmp_path: Path
) -> None:
    other = build(tmp_path / "other", soname="libother.so.1")
    with child(answers, LD_LIBRARY_PATH="") as process:
        (missing,) = process.call("answers_of", f"/nowhere/{NAME}", tmp_path).conditions
        (unnamed,) = process.call("answers_of", str(other), tmp_path).conditions
        (no_path,) = process.call("answers_of", f"/no\0where/{NAME}", tmp_path).conditions
    assert missing.code == unnamed.code == no_path.code == "nvml-library-missing"
    assert "null byte" in no_path.message
    assert f"/nowhere/{NAME}" in missing.message
    assert f"the SONAME of {other} isn't {NAME}" in unnamed.message


def test_a_path_is_refused_where_another_library_is_loaded(
    answers: Path, library: Path, tmp_path: Path
) -> None:
    other = build(tmp_path / "other", soname="libother.so.1")
    with child(answers, LD_LIBRARY_PATH=str(library.parent)) as process:
        (condition,) = process.call("answers_of", str(other), tmp_path).conditions
    assert f"another {NAME} is loaded than {other}" in condition.message


OLD_BINDING = """
import warnings
warnings.warn("use nvidia-ml-py", FutureWarning)
class NVMLError(Exception):
    pass
def nvmlInitWithFlags(flags): pass
def nvmlShutdown(): pass
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return object()
def nvmlDeviceGetUUID(handle): return b"GPU-1"
"""


def test_an_old_binding_that_hides_nvidias_gives_what_it_has(tmp_path: Path) -> None:
    package = tmp_path / "pynvml"
    package.mkdir()
    (package / "__init__.py").write_text(OLD_BINDING)
    owner = tmp_path / "pynvml-11.5.3.dist-info"
    owner.mkdir()
    (owner / "METADATA").write_text("Metadata-Version: 2.1\nName: pynvml\nVersion: 11.5.3\n")
    shadow = {"PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "error::FutureWarning"}
    with child(tmp_path / "none", **shadow) as process:
        answers = process.call("answers_of", "auto", tmp_path)
    (gpu,) = answers.gpus
    assert (gpu.uuid, gpu.name) == ("GPU-1", None)
    assert {error.error for error in gpu.errors} == {"FunctionNotFound"}
    assert codes(answers) == ["nvml-binding-shadowed"]
    assert f"{package}/__init__.py is of pynvml 11.5.3" in answers.conditions[0].message


@pytest.mark.parametrize(
    "source",
    [
        "",
        "NVMLError = None\n",
        "class NVMLError(Exception): pass\ndef nvmlInit(): pass\n",
        "print 'Python 2'\n",
        "raise RuntimeError('not here')\n",
    ],
)
def test_another_module_of_that_name_is_no_binding(source: str, tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(source)
    with child(tmp_path / "none", PYTHONPATH=str(tmp_path)) as process:
        (condition,) = process.call("answers_of", "auto", tmp_path).conditions
    assert condition.code == "nvml-binding-missing"


ODD_BINDING = """
import ctypes
class NVMLError(Exception):
    pass
def nvmlInitWithFlags(flags): pass
def nvmlShutdown(): pass
def nvmlSystemGetDriverVersion(): return None
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return object()
def nvmlDeviceGetPciInfo(handle): return object()
def nvmlDeviceGetUUID(handle, more): return "GPU-1"
def nvmlDeviceGetName(handle): return "H100"
def nvmlDeviceGetMinorNumber(handle): return "none"
def nvmlDeviceGetPersistenceMode(handle): raise ctypes.ArgumentError("no pointer")
def nvmlDeviceGetMigMode(handle): return [1]
def nvmlDeviceGetMemoryInfo(handle): return unicode
def nvmlDeviceGetMemoryAffinity(handle, words, scope): return ["0"]
def nvmlDeviceGetNumaNodeId(handle): raise NVMLError("no number")
nvmlDeviceGetAddressingMode = 7
"""


def test_what_a_binding_cannot_make_or_convert_costs_that_fact(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text(ODD_BINDING)
    with child(tmp_path / "none", PYTHONPATH=str(tmp_path)) as process:
        answers = process.call("answers_of", "auto", tmp_path)
    (gpu,) = answers.gpus
    assert (gpu.name, gpu.health, answers.driver_version) == ("H100", "ok", None)
    assert codes(answers) == ["nvml-unknown-error"]
    odd = {error.call for error in gpu.errors if error.error == "BindingError"}
    assert odd == {
        "pci",
        "uuid",
        "minor_number",
        "persistence_mode",
        "mig_mode",
        "memory_bytes",
        "memory_affinity",
        "addressing_mode",
    }
    rest = {error.call: error.error for error in gpu.errors if error.call not in odd}
    assert rest.pop("numa_node_id") == "Unknown"
    assert set(rest.values()) == {"FunctionNotFound"}


def test_nvidias_own_file_hides_nothing() -> None:
    assert shadow_condition("/lib/site-packages/pynvml.py") is None
    assert shadow_condition(None) is not None


def test_masks_hold_the_highest_id_that_the_kernel_may_show(tmp_path: Path) -> None:
    for directory, text in ((CPU_DIR, "0-511\n"), (NODE_DIR, "damage\n")):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "possible").write_text(text)
    assert read_highest_ids(tmp_path) == HighestIds(cpu=511, node=1023)
