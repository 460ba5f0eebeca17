"""What commands answer of this kernel and of its recording: argument `v2` or `v1`."""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from numa_agent.cli import main as command_line
from numa_agent.core.report import to_json
from tests import live_folder
from tests.recording.replay import COMMANDS, FINGERPRINT, mapped_back, record
from tests.vm.scripts.attempt import sleeper
from tests.vm.scripts.one_pass import ASSIGNED, leaves_of

ROOT = Path("/tmp/machine")
ONCE = ("run", "--once", "-o", "json")


def main() -> None:
    """Print the answers of the machine and, names mapped back, of its recording."""
    leaves = leaves_of(sys.argv[1])
    lay()
    with sleeper() as pid:
        wait_for_rest(pid)
        for leaf in leaves:
            (leaf / "cgroup.procs").write_text(str(pid))
        live_folder.take_pass(ROOT)
        kept, hidden = (
            record(ROOT, Path("/tmp") / str(keep), keep_names=keep) for keep in (True, False)
        )
        found = {
            "live": answers(ROOT) | {"run": json.dumps(to_json(live_folder.take_pass(ROOT)))},
            "kept": answers(kept.folder) | {"run": answer(ONCE, kept.folder)},
            "hidden": {
                key: mapped_back(text, hidden.names)
                for key, text in (
                    answers(hidden.folder) | {"run": answer(ONCE, hidden.folder)}
                ).items()
            },
        }
    names = {
        name: name.encode() in hidden.raw
        for name in (live_folder.POD_UID, live_folder.CONTAINER_ID, "pinned")
    }
    left_out = {**kept.left_out, **hidden.left_out}
    json.dump({"answers": found, "named": names, "left_out": left_out}, sys.stdout)


def wait_for_rest(pid: int) -> None:
    """Wait until a process takes no more memory, so that each look at it sees as much."""
    before = None
    for _ in range(100):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        state, faults = fields[0], fields[7]
        if state == "S" and faults == before:
            return
        before = faults
        time.sleep(0.1)
    raise TimeoutError(f"process {pid} doesn't come to rest")


def lay() -> None:
    """The kernel's file systems below a root of their own, as the DaemonSet mounts them."""
    live_folder.lay(ROOT, cpuset=ASSIGNED)
    for name in ("sys", "proc"):
        (ROOT / name).unlink()
        (ROOT / name).mkdir()
        mount = shutil.which("mount", path="/usr/bin:/bin:/usr/sbin:/sbin") or "mount"
        command = [mount, "--rbind", f"/{name}", str(ROOT / name)]
        subprocess.run(command, check=True, timeout=30)


def answers(root: Path) -> dict[str, str]:
    return {name: answer(command, root) for name, command in COMMANDS.items()}


def answer(command: tuple[str, ...], root: Path) -> str:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = command_line([*command, "--host-root", str(root)])
    said = out.getvalue() if command == ONCE else f"{status}\n{out.getvalue()}{errors.getvalue()}"
    return FINGERPRINT.sub("FINGERPRINT", said.replace(str(root), "ROOT"))


if __name__ == "__main__":
    main()
