"""What the corpus holds: real and edited machines, with the right answers in expected.json."""

import json
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


def expected() -> dict[str, dict[str, Any]]:
    """The right answers by machine, none where the corpus isn't there."""
    path = CORPUS / "expected.json"
    if not path.is_file():
        return {}
    answers: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return answers
