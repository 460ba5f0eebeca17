"""Copies to GPUs by CUDA's library: one that is compiled here, with the rules that matter.

Each test is a process of its own, since the library stays loaded.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.host.measuring.able import needs_policy

pytestmark = needs_policy

SOURCE = Path(__file__).with_name("fake_cuda.c")
TWO = "0000:3B:00.0,0000:AF:00.0"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, compiled; skips where there is no compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("the fake CUDA needs gcc")
    path = tmp_path_factory.mktemp("cuda") / "libcuda.so.1"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", str(path), str(SOURCE)], check=True)
    return path


def measure(
    library: Path | str, *, runs: int = 1, **fake: str
) -> "subprocess.CompletedProcess[str]":
    words = ["measure", "--runs", str(runs), "-o", "json", f"--gpus={library}"]
    return subprocess.run(
        [sys.executable, "-m", "numa_agent", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **{f"FAKE_CUDA_{name}": value for name, value in fake.items()}},
    )


def answer(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.stderr == ""
    return json.loads(done.stdout)


def gpus(document: Any) -> list[str]:
    return [each["gpu"] for each in document["gpu_copies"]]


def test_each_gpu_and_node_is_copied_both_ways_in_each_round(
    library: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    document = answer(measure(library, runs=2, GPUS=TWO, LOG=str(log)))
    nodes = len(document["targets"])
    assert gpus(document) == ["0000:3b:00.0"] * nodes + ["0000:af:00.0"] * nodes
    for each in document["gpu_copies"]:
        for way in ("to_gpu_bytes_per_second", "from_gpu_bytes_per_second"):
            assert len(each[way]["samples"]) == 2
            assert min(each[way]["samples"]) > 0
    assert document["left_out"] == []
    calls = Counter(log.read_text().split())
    assert calls["cuMemHostRegister_v2"] == calls["cuMemHostUnregister"] == 4 * nodes
    assert calls["cuMemAlloc_v2"] == calls["cuMemFree_v2"] == 2
    assert calls["cuDevicePrimaryCtxRetain"] == calls["cuDevicePrimaryCtxRelease_v2"] == 2
    copies = calls["cuMemcpyHtoD_v2"] + calls["cuMemcpyDtoH_v2"]
    assert calls["cuCtxSynchronize"] == copies >= 16 * nodes


def test_people_see_them_in_a_block_of_their_own(library: Path) -> None:
    environment = {**os.environ, "FAKE_CUDA_GPUS": TWO}
    words = ["measure", "--runs", "1", f"--gpus={library}"]
    said = subprocess.run(
        [sys.executable, "-m", "numa_agent", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    ).stdout
    assert "copies of pinned memory to a GPU / from it, in GB/s (its node by the map)" in said
    assert "  0000:3b:00.0 (?)  " in said


def test_a_machine_without_gpus_has_none(library: Path) -> None:
    assert answer(measure(library))["gpu_copies"] == []


@pytest.mark.parametrize(
    "call", ["cuDeviceGet", "cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRetain", "cuMemAlloc_v2"]
)
def test_a_gpu_that_can_t_be_had_costs_itself_alone(library: Path, call: str) -> None:
    document = answer(measure(library, GPUS=TWO, FAIL=f"{call}:2:0"))
    assert set(gpus(document)) == {"0000:af:00.0"}
    assert document["left_out"] == [f"CUDA's GPU 0: {call}: CUDA_ERROR_OUT_OF_MEMORY"]
    assert document["pairs"]


@pytest.mark.parametrize(
    "call", ["cuMemHostRegister_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuCtxSynchronize"]
)
def test_copies_that_fail_cost_themselves_alone(library: Path, call: str) -> None:
    document = answer(measure(library, GPUS=TWO, FAIL=f"{call}:719:1"))
    assert set(gpus(document)) == {"0000:3b:00.0"}
    nodes = [each["node"] for each in document["targets"]]
    assert document["left_out"] == [
        f"GPU 0000:af:00.0, memory of node {node}: {call}: error 719" for node in nodes
    ]
    assert document["pairs"]


def test_a_gpu_that_can_t_be_given_back_is_named(library: Path) -> None:
    document = answer(measure(library, GPUS=TWO, FAIL="cuMemFree_v2:719:0"))
    assert document["left_out"] == ["GPU 0000:3b:00.0: cuMemFree_v2: error 719"]
    assert len(document["gpu_copies"]) == 2 * len(document["targets"])


def test_an_address_that_is_none_costs_its_gpu(library: Path) -> None:
    document = answer(measure(library, GPUS="nonsense,0000:AF:00.0"))
    assert set(gpus(document)) == {"0000:af:00.0"}
    assert "not a PCI address: 'nonsense'" in document["left_out"][0]


def test_without_a_driver_the_reason_is_cuda_s(library: Path) -> None:
    done = measure(library, GPUS=TWO, FAIL="cuInit:100")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("numa-agent measure: error: cuInit: CUDA_ERROR_NO_DEVICE\n")


@pytest.mark.parametrize("path", ["libno-such-cuda.so.9", "libc.so.6", "", "/dev/null"])
def test_a_library_that_isn_t_cuda_s_is_named(path: str) -> None:
    done = measure(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "numa-agent measure: error: GPU copies need CUDA's driver library: " in done.stderr
