"""The agent's own decisions in a recording: the same CPUs under other names."""

from numa_agent.core.assigner import Kept, parse_kept, render_kept
from numa_agent.core.recording.decisions import UNREADABLE, decisions
from numa_agent.core.recording.pseudonyms import Names
from tests.machine_tree import uid

SECRET = "hunter2"
KEPT = Kept(
    pod=f"{SECRET}-ns/{SECRET}-pod",
    nodes=frozenset({1}),
    cpus=frozenset({4, 5, 6}),
    containers={f"{SECRET}-a": frozenset({4, 5})},
    sharing=(f"{SECRET}-b",),
    asked=f"{SECRET}/annotation",
    at=12.5,
)


def recorded(text: str, *, keep: bool = False) -> str:
    names = Names(b"key", keep=keep)
    decisions(text, names)
    names.settle()
    return decisions(text, names)


def test_no_name_comes_out_and_every_cpu_does() -> None:
    text = recorded(render_kept({uid(1): KEPT}))
    assert SECRET not in text
    assert uid(1) not in text
    (found,) = parse_kept(text).values()
    assert (found.cpus, found.nodes, found.at) == (KEPT.cpus, KEPT.nodes, KEPT.at)
    assert [*found.containers.values()] == [frozenset({4, 5})]


def test_with_its_names_it_is_what_it_was() -> None:
    text = render_kept({uid(1): KEPT})
    assert recorded(text, keep=True) == text


def test_a_file_that_cannot_be_read_is_as_unreadable_and_tells_nothing() -> None:
    assert recorded(f'{{"version": 1, "{SECRET}": 1}}') == UNREADABLE
