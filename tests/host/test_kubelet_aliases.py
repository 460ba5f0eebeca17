"""YAML that aliases make huge costs itself alone, and other aliases are as good as any text."""

import time
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.host.kubelet import read_settings
from numa_agent.host.kubelet_yaml import parse_yaml
from tests.machine_tree import Tree
from tests.recording.machines import copied, put
from tests.recording.replay import record

CONFIG = "var/lib/kubelet/config.yaml"
LIMITS = ", ".join(f'k{number}: "1"' for number in range(5000))
REPEATED = ", ".join(["*a"] * 5000)
HUGE = {
    "wide": f"x: &a {{numaNode: 0, limits: {{{LIMITS}}}}}\nreservedMemory: [{REPEATED}]\n",
    "deep": "a0: &a0 [x, x]\n"
    + "".join(f"a{each}: &a{each} [*a{each - 1}, *a{each - 1}]\n" for each in range(1, 60)),
    "keys": "a0: &a0 {x: y}\n"
    + "".join(f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}}}\n" for n in range(1, 60)),
    "merged": "a0: &a0 {x: y}\n"
    + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60)),
}


@pytest.mark.parametrize("name", HUGE)
def test_what_aliases_make_huge_is_refused_at_once(name: str, tmp_path: Path) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="make too much of it"):
        parse_yaml(HUGE[name])
    Tree(tmp_path).file(CONFIG, HUGE[name])
    with pytest.raises(SourceError, match=r"config.yaml: not YAML: aliases"):
        read_settings(tmp_path)
    assert time.process_time() - began < 5


def test_a_recording_has_something_as_unusable_in_its_place(tmp_path: Path) -> None:
    root = copied("mig-mixed", tmp_path / "machine")
    put(root / CONFIG, HUGE["wide"])
    made = record(root, tmp_path)
    assert made.left_out[CONFIG] == "it isn't YAML"
    assert made.text(CONFIG) == "[]\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: &x {m: 1}\nb: *x\n", {"a": {"m": 1}, "b": {"m": 1}}),
        ("a: &x {m: 1}\nb: {<<: *x, n: 2}\n", {"a": {"m": 1}, "b": {"m": 1, "n": 2}}),
        ("a: 1\n", {"a": 1}),
    ],
)
def test_other_aliases_are_read(text: str, found: object) -> None:
    assert parse_yaml(text) == (found, None)


def test_one_that_holds_itself_is_one() -> None:
    value, repeated = parse_yaml("a: &x {b: *x}\n")
    assert isinstance(value, dict)
    assert value["a"]["b"] is value["a"]
    assert repeated is None


def test_a_long_text_without_aliases_is_read() -> None:
    text = "".join(f"k{number}: 1\n" for number in range(60_000))
    value, _ = parse_yaml(text)
    assert isinstance(value, dict)
    assert len(value) == 60_000
