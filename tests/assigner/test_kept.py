"""The file of decisions: what is written is read again, and nothing else is."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_agent.core.assigner.kept import MOST_BYTES, Kept, parse_kept, render_kept
from numa_agent.core.assigner.values import Apart
from numa_agent.core.requests import MOST_CONTAINERS
from tests.assigner.scene import SIXTEEN, cpus
from tests.machine_tree import uid

_SETS = st.frozensets(st.integers(0, 1023), max_size=40)
_NAMES = st.text("abc-", min_size=1, max_size=5)

KEPT = st.dictionaries(
    st.integers(0, 50).map(uid),
    st.builds(
        Kept,
        pod=st.text(max_size=20),
        nodes=_SETS,
        cpus=_SETS,
        containers=st.dictionaries(_NAMES, _SETS, max_size=3),
        sharing=st.lists(_NAMES, max_size=3).map(tuple),
        single=st.booleans(),
        apart=st.sampled_from(Apart),
        asked=st.text(max_size=30),
        at=st.integers(0, 2_000_000_000_000).map(lambda millis: millis / 1000),
    ),
    max_size=6,
)

ONE = Kept(pod="shop/p1", nodes=frozenset({0}), cpus=cpus("0-3"), at=1.5)


def test_a_node_full_of_pods_of_many_containers_is_written_no_longer_than_it_is_read() -> None:
    names = tuple(f"{number:063}" for number in range(MOST_CONTAINERS))
    long = Kept(pod=f"{'n' * 63}/{'p' * 253}", nodes=frozenset({0}), sharing=names, asked="a" * 63)
    assert len(render_kept({uid(number): long for number in range(500)})) <= MOST_BYTES


@given(KEPT)
def test_what_is_written_is_read_again(kept: dict[str, Kept]) -> None:
    assert parse_kept(render_kept(kept)) == kept


@given(KEPT)
def test_the_same_decisions_make_the_same_file(kept: dict[str, Kept]) -> None:
    assert render_kept(dict(reversed(kept.items()))) == render_kept(kept)


@given(st.data())
def test_a_file_with_any_other_character_in_it_is_not_believed(data: st.DataObject) -> None:
    text = render_kept({uid(1): ONE, uid(2): replace(ONE, pod="shop/p2")}).strip()
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda each: each != text[place]))
    changed = f"{text[:place]}{other}{text[place + 1 :]}"
    try:
        found = parse_kept(changed)
    except ValueError:
        return
    # White space is no part of what it says.
    assert found == parse_kept(text)


@pytest.mark.parametrize("length", [0, 1, 50, 200])
def test_a_file_that_was_cut_is_not_believed(length: int) -> None:
    with pytest.raises(ValueError, match="it isn't"):
        parse_kept(render_kept({uid(1): ONE})[:length])


def test_another_version_is_named() -> None:
    with pytest.raises(ValueError, match="its version is 2, known is 1"):
        parse_kept('{"version": 2, "pods": {}}')


@pytest.mark.parametrize("text", ["[]", "7", "null", '"x"', "{}", "[" * 100_000])
def test_other_json_is_no_file_of_ours(text: str) -> None:
    with pytest.raises(ValueError, match="it isn't"):
        parse_kept(text)


@pytest.mark.parametrize("member", ["cpus", "nodes", "containers", "sharing", "at", "apart"])
@pytest.mark.parametrize("value", [None, True, [1], {"x": 1}, "no", -1])
def test_a_decision_with_a_member_of_another_kind_is_not_believed(
    member: str, value: object
) -> None:
    """Even where the digest is right: another program's file isn't ours."""
    import hashlib

    body = json.loads(render_kept({uid(1): ONE}))
    del body["digest"]
    body["pods"][uid(1)][member] = value
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    text = json.dumps({**body, "digest": f"sha256:{digest}"})
    accepted = (member, str(value)) in {("sharing", "[1]"), ("at", "-1")}
    if accepted:
        assert parse_kept(text)
    else:
        with pytest.raises(ValueError, match="can't be read"):
            parse_kept(text)


def test_one_container_has_all_and_so_has_whatever_comes_to_the_pod() -> None:
    said = replace(ONE, containers={"main": ONE.cpus}).assignment(SIXTEEN)
    assert said.containers == {}
    assert said.pod.cpus == ONE.cpus


def test_a_node_without_memory_is_no_memory_node() -> None:
    nodes = tuple(
        replace(node, memory_bytes=0) if node.id == 1 else node for node in SIXTEEN.nodes
    )
    said = replace(ONE, nodes=frozenset({0, 1})).assignment(replace(SIXTEEN, nodes=nodes))
    assert said.pod.mems == frozenset({0})
