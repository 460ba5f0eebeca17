"""The published `nvidia-smi topo -m` matrices, and how their text is read: for tests alone."""

from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "topo"

ITSELF = "X"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One device: its cells by the other device, and what stands to their right.

    The last four are None where there is no such column, or no cell in it (a NIC's row).
    """

    cells: dict[str, str]
    cpus: str | None
    nodes: str | None
    memory_node: str | None
    source: str | None


def published(number: str) -> dict[str, Row]:
    """The matrix with this number; skips the test where the collection isn't there."""
    found = sorted(FOLDER.glob(f"{number}-*.txt"))
    if not found:
        pytest.skip(f"the published matrix {number} is absent ({FOLDER})")
    return parse(found[0].read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Row]:
    """The rows of a matrix by device, in their order; comments and the legend are left out."""
    lines = [line for line in text.splitlines() if "\t" in line and not line.startswith("#")]
    head = lines[0].split("\t")[1:]
    devices = [name for name in head if " " not in name]
    columns = head[len(devices) :]
    return dict(_row(line.split("\t"), devices, columns) for line in lines[1:])


def _row(parts: list[str], devices: list[str], columns: list[str]) -> tuple[str, Row]:
    name, cells, rest = parts[0], parts[1 : len(devices) + 1], parts[len(devices) + 1 :]
    if len(cells) < len(devices):
        raise ValueError(f"row {name}: {len(cells)} cells for {len(devices)} devices")
    # nvidia-smi puts two tabs before the last of its columns, for the width of the words above.
    if "GPU NUMA ID" in columns and len(rest) == len(columns) + 1 and not rest[2]:
        del rest[2]
    tail = dict(zip(columns, rest, strict=False))
    row = Row(
        cells={other: cell.strip() for other, cell in zip(devices, cells, strict=True)},
        cpus=tail.get("CPU Affinity"),
        nodes=tail.get("NUMA Affinity"),
        memory_node=tail.get("GPU NUMA ID"),
        source=tail.get("NUMA source"),
    )
    return name, row
