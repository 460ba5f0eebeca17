"""How much telling may cost, and what is told next."""

from dataclasses import dataclass

from numa_agent.core.telling.notices import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and numbers of requests.

    All together `burst` and then one every `refill`; of one object `own_burst` and one every
    `own_refill`. The same thing is told again `again` after the last time at the earliest,
    `refresh` after it where it never ended. What happened waits for `kept`, `most` at once. More
    than `few` faults held back are told of together. A failure is followed by a pause of `pause`,
    doubled up to `longest`; half of it is chance.
    """

    burst: float = 20.0
    refill: float = 10.0
    own_burst: float = 10.0
    own_refill: float = 60.0
    again: float = 300.0
    refresh: float = 2700.0
    kept: float = 3600.0
    most: int = 200
    few: int = 5
    pause: float = 10.0
    longest: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A notice to be told now; it was found `age` seconds ago.

    `again` says that it was told before, `count` how often the server was last seen to know it,
    None where that isn't known.
    """

    notice: Notice
    age: float
    again: bool = False
    count: int | None = None
