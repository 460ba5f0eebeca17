"""The benchmark's own rules: what is compared is the same, and nothing is given twice."""

from itertools import pairwise

import pytest

from benchmarks.packing import MACHINES, Machine, read_machine, run, slot, traffic


@pytest.fixture(params=MACHINES)
def idle(request: pytest.FixtureRequest) -> Machine:
    return read_machine(str(request.param))


def test_traffic_is_the_same_for_a_seed_and_gives_no_gpu_twice(idle: Machine) -> None:
    first = list(traffic(idle, 200, seed=3))
    assert first == list(traffic(idle, 200, seed=3))
    assert first != list(traffic(idle, 200, seed=4))
    held: dict[int, tuple[str, ...]] = {}
    for pod, gone, free in first:
        for number in gone:
            del held[number]
        if pod is not None:
            held[pod.number] = pod.gpus
        taken = [gpu for gpus in held.values() for gpu in gpus]
        assert len(taken) == len({*taken})
        assert free == {*idle.nodes_of_gpus} - {*taken}


def test_the_assigner_aligns_the_most_and_the_same_pods_come_in_for_all(idle: Machine) -> None:
    came, scores = run(idle, 300, seed=1)
    assert 0 < came < 300
    assert slot(idle).gpus == 1
    single, plugin, best, first_fit, kubelet = scores
    assert single.aligned + single.later <= single.placed <= came
    assert best.placed == first_fit.placed == kubelet.placed == came
    for score in (single, plugin, best):
        assert score.aligned > max(first_fit.aligned, kubelet.aligned)
    assert single.later > 0
    assert (best.later, first_fit.later, kubelet.later) == (0, 0, 0)
    assert all(len(one.slots) == len(other.slots) for one, other in pairwise(scores))
