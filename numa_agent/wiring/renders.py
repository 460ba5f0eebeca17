"""What would be published, without publishing it: the pass's own reading and language."""

from collections.abc import Iterator
from dataclasses import dataclass

from numa_agent.agent import view_of
from numa_agent.config import Config
from numa_agent.core.publishing import Decision, decide
from numa_agent.core.view import Json, Rendering
from numa_agent.wiring.language import language
from numa_agent.wiring.looking import looking
from numa_agent.wiring.passes import connected, rendering


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The objects, and why sources or objects are missing."""

    rendering: Rendering
    failures: tuple[str, ...]


def render_once(config: Config) -> Rendered:
    """What the machine's scheduler would be told now. Raises SourceError without a map."""
    with looking(config) as look:
        failures, planned = look.failures, look.planned
        view = view_of(look.now, None if planned is None else planned.desired, failures)
    if view is None:
        return Rendered(rendering=Rendering(manifests=()), failures=tuple(failures))
    told = rendering(config, language(config.scheduler))(view)
    whole = Rendering(manifests=told.manifests, conditions=(*view.conditions, *told.conditions))
    return Rendered(rendering=whole, failures=tuple(failures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An object as it would be applied, the cluster's, and what a pass would do about it."""

    manifest: Json
    live: Json | None
    decision: Decision


def compared(config: Config, manifests: tuple[Json, ...]) -> Iterator[Compared]:
    """Each object beside the cluster's. Raises SourceError when the cluster can't be asked."""
    spoken = language(config.scheduler)
    with connected(config) as cluster:
        for manifest in manifests:
            live = cluster.read(manifest)
            wanted = spoken.adopt(manifest, live)
            decision = decide(wanted, live, takeover=config.takeover, companions=spoken.companions)
            yield Compared(manifest=wanted, live=live, decision=decision)
