"""The distances that measured times give."""

from numa_agent.core.measuring import Gain, gain
from numa_agent.core.measuring.answers import matrix_json
from tests.core.measuring.machines import FAR, NEAR, matrix, two, two_measured


def test_a_remote_read_is_a_distance_beside_the_local_ten() -> None:
    found = two_measured()
    assert {pair: found.distance(*pair) for pair in found.pairs} == {
        (0, 0): 10,
        (0, 1): 17,
        (1, 0): 17,
        (1, 1): 10,
    }
    assert found.by == "latency"
    assert gain(found.ratio(0, 1)) is Gain.FASTER


def test_without_latencies_the_bandwidth_is_what_there_is() -> None:
    rates = {(0, 0): (4e10,) * 5, (0, 1): (2.5e10,) * 5}
    found = matrix({(0, 0): (), (0, 1): ()}, rates)
    assert found.by == "bandwidth"
    assert (found.distance(0, 0), found.distance(0, 1)) == (10, 16)


def test_one_missing_latency_turns_all_to_bandwidth_so_that_scales_don_t_mix() -> None:
    found = matrix({(0, 0): NEAR, (0, 1): ()})
    assert found.by == "bandwidth"
    assert found.distance(0, 1) == 10


def test_distances_are_between_ten_and_254() -> None:
    quick = matrix({(0, 0): NEAR, (0, 1): tuple(each / 2 for each in NEAR)})
    slow = matrix({(0, 0): NEAR, (0, 1): tuple(each * 100 for each in NEAR)})
    assert (quick.distance(0, 1), slow.distance(0, 1)) == (10, 254)


def test_a_node_without_memory_of_its_own_is_local_to_the_quickest() -> None:
    found = matrix({(0, 1): FAR, (0, 2): NEAR})
    assert found.local(0) == 2
    assert (found.distance(0, 2), found.distance(0, 1)) == (10, 17)


def test_what_was_not_measured_has_no_distance() -> None:
    found = two_measured()
    assert found.distance(0, 2) is None
    assert found.distance(5, 0) is None
    assert found.ratio(5, 0) is None


def test_programs_are_told_every_sample_and_the_firmware_s_distance() -> None:
    document = matrix_json(two_measured(), two(), "A CPU")
    assert document["format"] == "numa-agent.measure/v1"
    pairs = document["pairs"]
    assert isinstance(pairs, list)
    assert [(each["from"], each["to"], each["distance"]) for each in pairs] == [
        (0, 0, 10),
        (0, 1, 17),
        (1, 0, 17),
        (1, 1, 10),
    ]
    assert pairs[1]["firmware_distance"] == 21
    assert pairs[1]["latency_ns"]["samples"] == list(FAR)
    assert document["one_node"] is False
