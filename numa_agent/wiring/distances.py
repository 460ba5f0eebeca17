"""Measured distances in what is published, where the operator set `measuredDistances`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from numa_agent.config import Config
from numa_agent.core.view import Rendering, View

if TYPE_CHECKING:
    from numa_agent.core.measuring.distances import Distances

_MOST_BYTES = 64 * 1024


def with_measured(
    config: Config, render: Callable[[View], Rendering]
) -> Callable[[View], Rendering]:
    """The same rendering with the distances of the file, read at each pass.

    A file that can't be read, or is of another machine, costs itself alone: the firmware's
    distances stand, and a condition says why.
    """
    path = config.measured_distances
    if path is None:
        return render
    # Half a MiB that few need.
    from numa_agent.core.measuring.distances import DistancesError, unusable

    def rendered(view: View) -> Rendering:
        model = None if view.cpu_info is None else view.cpu_info.model
        try:
            rows = _read(path).here(view.topology, model)
        except DistancesError as error:
            told = render(view)
            return replace(told, conditions=(unusable(str(path), error), *told.conditions))
        return render(replace(view, distances=rows))

    return rendered


def _read(path: Path) -> "Distances":
    """The file's distances. Raises DistancesError."""
    from numa_agent.core.measuring.distances import DistancesError, of_text

    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise DistancesError(f"it can't be read: {why}") from error
    try:
        return of_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DistancesError("it isn't UTF-8") from error
