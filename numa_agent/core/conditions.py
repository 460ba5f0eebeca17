"""What isn't as it should be in what one pass saw, in words that say what to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Condition:
    """A fault that costs one thing; `code` is stable, `message` names thing and values."""

    code: str
    subject: str
    message: str
