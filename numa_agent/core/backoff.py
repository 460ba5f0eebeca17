"""How long to leave a server alone after it failed.

https://kubernetes.io/docs/reference/using-api/api-concepts/ (429 and Retry-After); with jitter, so
that the nodes of a cluster don't come back all at once.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOff:
    """Seconds: `first` after the first failure, doubled after each further one, up to `most`.

    Half of it is chance. A Retry-After counts up to `obeyed`.
    """

    first: float = 1.0
    most: float = 30.0
    obeyed: float = 120.0

    def seconds(self, failures: int, chance: float, retry_after: float | None = None) -> float:
        """How long to wait after so many failures in a row; `chance` is from 0 up to 1."""
        drawn = doubled(self.first, self.most, failures, chance)
        if retry_after is None:
            return drawn
        # Nobody comes back earlier than asked, and not all at the same moment.
        return max(drawn, min(retry_after, self.obeyed) + chance * self.first)


def doubled(first: float, most: float, failures: int, chance: float) -> float:
    """Seconds: `first` after the first failure, doubled after each further one, up to `most`.

    Half of it is `chance`, from 0 up to 1.
    """
    # Beyond 2**30 the power only costs time, since `most` has long been reached.
    full = min(first * 2.0 ** min(max(failures - 1, 0), 30), most)
    return full * (1 + chance) / 2
