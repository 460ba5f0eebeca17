"""One check: its name, the rules that it may find, and the function that looks."""

from collections.abc import Callable
from dataclasses import dataclass

from numa_agent.core.doctor.facts import Examination
from numa_agent.core.doctor.findings import Results, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Looks at one thing; it gives nothing where all that it needs is known and is well."""

    name: str
    rules: tuple[Rule, ...]
    look: Callable[[Examination], Results]
