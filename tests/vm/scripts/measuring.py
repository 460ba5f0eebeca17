"""What `numa-agent measure` finds and does on this machine; prints each command's answer.

Arguments are files, together larger than the memory of node 2.
"""

import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numa_agent.core.measuring import Target
from numa_agent.host.measuring import placed
from numa_agent.host.measuring.buffers import on_node
from numa_agent.host.measuring.kernels import chain
from numa_agent.host.measuring.policy import page_nodes, prefer

MIB = 1 << 20
LOG = Path("/tmp/log")

SHOWN = """\
import json, mmap, sys
memory = mmap.mmap(-1, int(sys.argv[1]) << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for _ in range(len(memory) >> 20):
    memory.write(b"x" * (1 << 20))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
pages = {}
for line in open("/proc/self/numa_maps"):
    words = line.split()
    big = [word for word in words if word.startswith("anon=") and int(word[5:]) >= 2048]
    if big:
        pages = {word.split("=")[0]: int(word.split("=")[1]) for word in words if word[0] == "N"}
        policy = words[1]
print(json.dumps({"cpus": status["Cpus_allowed_list"].strip(), "policy": policy, "pages": pages}))
"""


def main() -> None:
    """Print it all."""
    json.dump(
        {
            "matrix": _measure("--runs", "2", "-o", "json"),
            "distances": _measure("--runs", "1", "--seconds", "5", "-o", "distances"),
            "pages": {node: _pages(node) for node in (0, 1, 2)},
            "moved": _moved(),
            "brought_back": _brought_back(),
            "full": _full(),
            "command": _command(),
            "refused": _refused(),
            "memory_far": _command("--far", "2"),
            "spilled": _spilled(),
            "failing": _measure("--runs", "1", "-o", "json", "--", "sh", "-c", "exit 3"),
            "stopped": _stopped(),
            "confined": _confined("1", "0"),
            "elsewhere": _confined("2-3", "1"),
        },
        sys.stdout,
    )


def _measure(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "numa_agent", "measure", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return {"code": done.returncode, "out": _read(done.stdout), "err": done.stderr}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _pages(node: int) -> dict[str, int]:
    """What the kernel itself says of a buffer that is to be on a node: numa_maps, not our call."""
    target = Target(node=node, chain_bytes=MIB, stream_bytes=3 * MIB)
    with on_node(target) as buffer:
        buffer.fill(chain(MIB))
        for line in Path("/proc/self/numa_maps").read_text().splitlines():
            words = line.split()
            if words[1] == f"prefer:{node}" or words[1] == f"prefer={node}":
                return {
                    word.split("=")[0]: int(word.split("=")[1]) for word in words if word[0] == "N"
                }
    return {}


def _moved() -> dict[str, Any]:
    """What is said of a buffer of which a page was moved to another node."""
    target = Target(node=0, chain_bytes=MIB, stream_bytes=3 * MIB)
    with on_node(target) as buffer:
        buffer.fill(chain(MIB))
        pages = (ctypes.c_void_p * 1)(buffer.stream)
        nodes, status = (ctypes.c_int * 1)(1), (ctypes.c_int * 1)()
        move = ctypes.CDLL(None).syscall(279, 0, ctypes.c_ulong(1), pages, nodes, status, 2)
        try:
            buffer.check()
            said = ""
        except Exception as error:
            said = str(error)
        return {
            "result": move,
            "counted": dict(page_nodes(buffer.chain, target.size)),
            "said": said,
            "page_size": mmap.PAGESIZE,
        }


def _brought_back() -> dict[int, int]:
    """The pages of a buffer that were on node 1 before it was filled for node 0."""
    target = Target(node=0, chain_bytes=MIB, stream_bytes=3 * MIB)
    with on_node(target) as buffer:
        prefer(buffer.chain, target.size, 1)
        ctypes.memset(buffer.chain, 1, target.size)
        before = page_nodes(buffer.chain, target.size)
        assert set(before) == {1}, before
        buffer.fill(chain(MIB))
        return dict(page_nodes(buffer.chain, target.size))


def _full() -> dict[str, Any]:
    """Where the pages of a buffer for node 2 are, when files' pages have filled that node."""
    with placed(frozenset(os.sched_getaffinity(0)), 2):
        reading = subprocess.Popen(["cat", *sys.argv[1:]], stdout=subprocess.DEVNULL)
    reading.wait(120)
    free = _mem_free(2)
    target = Target(node=2, chain_bytes=16 * MIB, stream_bytes=48 * MIB)
    with on_node(target) as buffer:
        ctypes.memset(buffer.chain, 1, target.size)
        preferred = dict(page_nodes(buffer.chain, target.size))
        buffer.fill(chain(target.chain_bytes))
        found = dict(page_nodes(buffer.chain, target.size))
    return {"free": free, "size": target.size, "preferred": preferred, "filled": found}


def _mem_free(node: int) -> int:
    text = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text()
    (line,) = [line for line in text.splitlines() if "MemFree:" in line]
    return int(line.split()[-2]) * 1024


def _refused() -> dict[str, Any]:
    """What is said where seccomp refuses memory policy, of a command."""
    calls = "mbind,set_mempolicy,get_mempolicy,move_pages"
    words = ["tests.host.measuring.refusing", calls, "measure", "--", "touch", "/tmp/ran"]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    return {"code": done.returncode, "err": done.stderr, "ran": Path("/tmp/ran").exists()}


def _command(*words: str, mib: int = 8) -> dict[str, Any]:
    """A command that prints where it runs and where its memory is, for which there is room."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    LOG.unlink(missing_ok=True)
    command = ["--", sys.executable, "-c", SHOWN, str(mib)]
    answer = _measure("--runs", "1", "-o", "json", "--log", str(LOG), *words, *command)
    answer["log"] = [json.loads(line) for line in LOG.read_text().splitlines()]
    return answer


def _spilled() -> dict[str, Any]:
    """A command with more memory than node 2 has, beside what the kernel would kill first."""
    with subprocess.Popen(["sleep", "600"]) as bystander:
        try:
            Path(f"/proc/{bystander.pid}/oom_score_adj").write_text("1000")
            answer = _command("--far", "2", mib=264)
            words = ["--", sys.executable, "-c", SHOWN, "264"]
            table = _measure("--runs", "1", "--log", "/dev/null", "--far", "2", *words)
            return {**answer, "table": table, "bystander": bystander.poll()}
        finally:
            bystander.kill()


def _stopped() -> dict[str, Any]:
    """What SIGTERM does to the command and to us."""
    LOG.unlink(missing_ok=True)
    script = "trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    command = [sys.executable, "-m", "numa_agent", "measure", "--log", str(LOG)]
    with subprocess.Popen(
        [*command, "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (LOG.exists() and LOG.read_text()):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    return {"code": process.returncode, "out": out, "err": err, "log": LOG.read_text().split()}


def _confined(cpus: str, mems: str) -> Sequence[dict[str, Any]]:
    """The matrix and a command in a cpuset."""
    group = Path("/sys/fs/cgroup/confined")
    group.mkdir(exist_ok=True)
    (group / "cpuset.cpus").write_text(cpus)
    (group / "cpuset.mems").write_text(mems)
    home = Path("/sys/fs/cgroup/cgroup.procs")
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        return [
            _measure("--runs", "1", "--seconds", "2", "-o", "json"),
            _measure("--runs", "1", "--", "true"),
        ]
    finally:
        home.write_text(str(os.getpid()))


if __name__ == "__main__":
    main()
