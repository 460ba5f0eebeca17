"""Builds the fake libnvidia-ml.so.1 and writes what it answers, from a nvml.json."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAME = "libnvidia-ml.so.1"
SOURCE = Path(__file__).with_name("fake_nvml.c")

# nvmlReturn_t: https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
CODES = {
    "Uninitialized": 1,
    "InvalidArgument": 2,
    "NotSupported": 3,
    "NoPermission": 4,
    "AlreadyInitialized": 5,
    "NotFound": 6,
    "InsufficientSize": 7,
    "InsufficientPower": 8,
    "DriverNotLoaded": 9,
    "Timeout": 10,
    "IrqIssue": 11,
    "LibraryNotFound": 12,
    "FunctionNotFound": 13,
    "CorruptedInforom": 14,
    "GpuIsLost": 15,
    "ResetRequired": 16,
    "OperatingSystem": 17,
    "LibRmVersionMismatch": 18,
    "InUse": 19,
    "Memory": 20,
    "NoData": 21,
    "VgpuEccNotSupported": 22,
    "InsufficientResources": 23,
    "FreqNotSupported": 24,
    "ArgumentVersionMismatch": 25,
    "Deprecated": 26,
    "NotReady": 27,
    "GpuNotFound": 28,
    "InvalidState": 29,
    "ResetTypeNotSupported": 30,
    "Code31": 31,  # ours, for a code that the binding has no class for
    "Unknown": 999,
}


def build(folder: Path, *options: str, soname: str = NAME) -> Path:
    """Compile the library into a folder, or skip where there is no compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("the fake NVML needs gcc")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / NAME
    warnings = ["-Wall", "-Wextra"]
    shared = ["-shared", "-fPIC", f"-Wl,-soname,{soname}"]
    command = [compiler, "-O1", *warnings, *shared, *options, "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    return library


def write(path: Path, document: Any, *more: str) -> None:
    """Replace the library's answers with those of a nvml.json, and further lines."""
    draft = path.with_suffix(".new")
    draft.write_text("".join(f"{line}\n" for line in [*lines(document), *more]))
    os.replace(draft, path)


def lines(document: Any) -> Iterator[str]:
    """The answers of a nvml.json, one a line: KEY CODE VALUE."""
    yield _line("init", document["init"])
    yield f"gpus 0 {len(document['gpus'])}"
    for key, answer in document["system"].items():
        yield _line(f"system.{key}", answer)
    for index, gpu in enumerate(document["gpus"]):
        for key, answer in gpu.items():
            yield from _answers(f"{index}.{key}", key, answer)


def _answers(place: str, key: str, answer: Any) -> Iterator[str]:
    if key == "mig_devices":
        length = len(answer) if isinstance(answer, list) else answer
        yield _line(place.replace("mig_devices", "mig_count"), length)
    if not isinstance(answer, list):
        yield _line(place, answer, key)
        return
    yield f"{place} {CODES['InvalidArgument']}"
    for number, element in enumerate(answer):
        yield _line(f"{place}.{number}", element, key)
        if key == "mig_devices":
            for part, value in element.items():
                yield _line(f"{place}.{number}.{part}", value)


def _line(place: str, answer: Any, key: str = "") -> str:
    if isinstance(answer, dict) and "error" in answer:
        return f"{place} {CODES[answer['error']]}"
    return f"{place} 0 {_value(key, answer)}"


def _value(key: str, answer: Any) -> str:
    if key == "pci":
        return str(answer["bus_id"])
    if key == "mig_mode":
        return f"{answer['current']} {answer['pending']}"
    if key == "fabric":
        numbers = [answer["state"], answer["status"], answer["clique_id"]]
        return " ".join(map(str, [*numbers, answer["cluster_uuid"].replace("-", "")]))
    return "" if answer is None or key == "mig_devices" else str(answer)
