"""docs/recorded-machines.md says what the generator does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tools.machines.build import build
from tools.machines.reading import parse_machine
from tools.machines.tree import Tree


@pytest.fixture(scope="module")
def page() -> str:
    path = Path(__file__).parents[2] / "docs" / "recorded-machines.md"
    return path.read_text(encoding="utf-8")


def test_the_example_is_a_machine_of_at_most_twenty_lines(page: str) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(example.splitlines()) <= 20
    assert "proc/driver/nvidia/gpus/0000:43:00.0/information" in build(
        parse_machine("example", example)
    )


def test_every_key_of_nvml_is_described(page: str, machines: dict[str, Tree]) -> None:
    answers: Any = json.loads(str(machines["two-socket-8gpu"]["answers/nvml.json"]))
    keys = ["init", *(f"system.{key}" for key in answers["system"]), *answers["gpus"][0]]
    assert [key for key in keys if f"`{key}`" not in page] == []


def test_every_machine_is_described(page: str, machines: dict[str, Tree]) -> None:
    assert [name for name in machines if f"| `{name}` |" not in page] == []
