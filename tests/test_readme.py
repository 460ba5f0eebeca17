"""The README shows what a newcomer really sees."""

import json
import re
from pathlib import Path

import pytest

from numa_agent.cli import main
from numa_agent.config import load
from numa_agent.core.verdict import Alignment
from tests.recorded import ROOT, copied, machine

README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = re.findall(r"^\| (`[^|]*) \|", README, re.MULTILINE)


def block_with(line: str) -> str:
    """The one indented block with that line, from the line on."""
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", README, re.MULTILINE)
    texts = [re.sub("^    ", "", block, flags=re.MULTILINE).strip("\n") for block in blocks]
    (found,) = [text for text in texts if line in text.splitlines()]
    return found[found.index(line) :]


def test_the_tree_shown_is_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    words = "topology --host-root fixtures/sysfs/four-node-snc"
    typed, _, shown = block_with(f"$ .venv/bin/numa-agent {words}").partition("\n")
    folder = typed.split()[-1]
    assert main(["topology", "--host-root", str(ROOT / folder)]) == 0
    assert shown == capsys.readouterr().out.rstrip("\n")


def test_what_would_become_of_the_example_is_as_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = next(line for line in README.splitlines() if "numa-agent simulate" in line).strip()
    monkeypatch.chdir(ROOT)
    assert main(typed.split()[2:]) == 0
    shown = block_with(typed).partition("\n")[2]
    assert shown == capsys.readouterr().out.rstrip("\n")


def test_the_demo_ends_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    head = "== 3. bind: the files written =="
    assert main(["demo"]) == 0
    said = capsys.readouterr().out
    assert block_with(head) == said[said.index(head) :].rstrip("\n")


def test_the_configuration_shown_is_one_of_the_live_machine(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(block_with("hostRoot: /host"))
    assert load(path, {}, {}).live


@pytest.mark.parametrize("cell", FOLDERS)
def test_what_the_table_names_is_there(cell: str) -> None:
    first, *others = re.findall("`([^`]+)`", cell)
    paths = [ROOT / first, *((ROOT / first).parent / other for other in others)]
    assert [path for path in paths if not path.exists()] == []


def test_every_room_is_in_the_table() -> None:
    rooms = [path.parent.name for path in (ROOT / "numa_agent").glob("*/__init__.py")]
    assert [room for room in rooms if f"{room}/`" not in "".join(FOLDERS)] == []


def _anchor(heading: str) -> str:
    """A heading's anchor as GitHub makes it."""
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def test_every_link_leads_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")):
        content = page.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^):#]+)[^):]*\)", content)
        assert [to for to in targets if not (page.parent / to).exists()] == []
        headings = {_anchor(line) for line in re.findall(r"^#+ (.+)$", content, re.MULTILINE)}
        assert set(re.findall(r"\]\(#([^)]+)\)", content)) <= headings


def test_every_field_and_code_of_the_report_is_documented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "report-json.md").read_text(encoding="utf-8")
    copied(machine("two-socket-8gpu"), tmp_path / "machine")
    main(["run", "--once", "--host-root", str(tmp_path / "machine"), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert f"`{report['format']}`" in page
    lists = ("publications", "writes", "containers", "sources")
    nested = [key for name in lists for key in report[name][0]]
    assert [key for key in report if f"| `{key}" not in page] == []
    assert [key for key in nested if f".{key}`" not in page] == []
    assert [word for word in Alignment if f"| `{word}` |" not in page] == []


def test_every_code_of_binding_is_documented() -> None:
    page = (ROOT / "docs" / "binding.md").read_text(encoding="utf-8")
    sources = (ROOT / "numa_agent" / "core" / "cpusets").glob("*.py")
    codes = {
        code
        for source in sources
        for code in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', source.read_text(encoding="utf-8"))
    }
    other = {"with-cpus", "nvidia-cdi", "nvidia-legacy", "cri-o"}
    assert [code for code in sorted(codes - other) if f"`{code}`" not in page] == []
