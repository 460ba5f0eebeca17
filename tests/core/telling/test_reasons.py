"""Every condition has a reason or is known to need none, and docs/events.md says which."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from numa_agent.core.telling import EVENT_REASONS, NO_EVENT, REASONS

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"[a-z]+(-[a-z]+)*")
SAYING = {"Condition", "say", "_say", "_condition"}


def _strings(node: ast.expr, names: dict[str, str]) -> Iterator[str]:
    """What an expression may be, as far as it is written out."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in names:
            yield names[name]
        case ast.JoinedStr():
            yield from ("drift-wait", "drift-conflict") if "drift" in ast.unparse(node) else ()


def _codes(source: str) -> Iterator[str]:
    """The codes of the conditions that a module makes."""
    tree = ast.parse(source)
    names = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith("ack-"):
            yield str(node.value)  # made in one place from a code told in another
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else None
        called = node.func.id if isinstance(node.func, ast.Name) else called
        if called not in SAYING:
            continue
        given = [each.value for each in node.keywords if each.arg == "code"]
        for each in given or node.args[:2]:
            yield from (code for code in _strings(each, names) if CODE.fullmatch(code))


def codes() -> set[str]:
    """The codes that may be in a report's conditions; NVML's own are the map's warnings."""
    rooms = (ROOT / "numa_agent" / name for name in ("core", "agent", "cluster"))
    paths = [path for room in rooms for path in room.rglob("*.py")]
    paths += (ROOT / "numa_agent" / "wiring").glob("gpu_*.py")
    silent = {"telling", "recording", "doctor", "explaining", "verdict"}
    modules = [path for path in paths if silent.isdisjoint(path.parts)]
    return {code for path in modules for code in _codes(path.read_text())}


def test_every_condition_in_the_code_has_a_reason_or_needs_none() -> None:
    assert codes() == EVENT_REASONS.keys() | NO_EVENT


def test_reasons_are_words_that_can_be_selected_by() -> None:
    assert all(re.fullmatch(r"([A-Z][a-z]*|[A-Z]+)+", name) for name in REASONS)
    assert not EVENT_REASONS.keys() & NO_EVENT


def table() -> dict[str, tuple[str, str, str, str]]:
    """The rows of the reasons in docs/events.md by their name."""
    found = {}
    for line in (ROOT / "docs" / "events.md").read_text().splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if len(cells) == 5 and re.fullmatch(r"`[A-Z]\w+`", cells[0]):
            name, *rest = cells
            assert name.strip("`") not in found
            found[name.strip("`")] = (rest[0], rest[1], rest[2], rest[3])
    return found


def test_the_document_has_a_row_for_every_reason_and_no_other() -> None:
    rows = table()
    assert rows.keys() == REASONS.keys()
    assert {name: row[:2] for name, row in rows.items()} == {
        name: (each.kind.value, each.about.value) for name, each in REASONS.items()
    }
    assert all(len(when) > 20 and len(what) > 20 for _, _, when, what in rows.values())


def test_the_document_names_the_conditions_of_each_reason() -> None:
    named = {
        (code, name)
        for name, (_, _, when, _) in table().items()
        for code in re.findall(r"`([a-z-]+)`", when)
        if code in EVENT_REASONS
    }
    assert named == {(code, reason.name) for code, reason in EVENT_REASONS.items()}


def test_the_document_names_how_long_a_fault_must_last() -> None:
    for name, (_, _, when, _) in table().items():
        told = re.findall(r"\((\d+) s\)", when)
        patience = REASONS[name].patience
        assert told == ([str(int(patience))] if patience else []), name


def test_the_document_names_the_conditions_that_are_no_events() -> None:
    text = (ROOT / "docs" / "events.md").read_text()
    assert all(f"`{code}`" in text for code in NO_EVENT)
