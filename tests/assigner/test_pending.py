"""Which pod kubelet asks cards for, where it doesn't say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numa_agent.core.assigner import awaited
from numa_agent.core.pod_keys import CPU_KIND
from tests.assigner.scene import SPEC, asks
from tests.machine_tree import container

CARD = "aliyun.com/gpu"


def waits(number: int, cpus: int, cards: int, **more: object) -> object:
    kinds = more.pop("annotations", None)
    pod = asks(number, cpus, gpus=cards, annotations=kinds)  # type: ignore[arg-type]
    return replace(pod, containers=(), **more)  # type: ignore[arg-type]


def room(pods: Sequence[Any], resource: str, size: int) -> int | None:
    wish = awaited(pods, resource, size)
    return None if wish is None else wish.room


def test_it_is_the_first_that_asks_for_as_many_and_has_no_container_yet() -> None:
    pods = [
        waits(1, 24, 2),
        asks(2, 12, gpus=4),
        waits(3, 8, 4, phase="Failed"),
        waits(4, 16, 4),
        waits(5, 2, 4),
    ]
    assert room(pods, CARD, 4) == 16
    assert room(pods, CARD, 2) == 24
    assert room(pods, CARD, 1) is None
    assert room(pods, "nvidia.com/gpu", 4) is None


def test_one_that_asks_for_a_kind_of_cpus_is_told_of_too() -> None:
    kind = waits(1, 24, 2, annotations={CPU_KIND: "core"})
    assert room([kind], CARD, 2) == 24


def test_a_container_that_the_status_names_without_an_id_isnt_there_yet() -> None:
    named = replace(container(1), id=None, running=False)
    assert room([replace(asks(1, 6, gpus=1), containers=(named,))], CARD, 1) == 6


def test_who_asks_for_nothing_or_wrongly_is_passed_over() -> None:
    quiet = replace(asks(1, 6, policy=None, gpus=1), containers=())
    wrong = replace(asks(2, 6, policy=None, gpus=1, annotations={SPEC: "{,"}), containers=())
    assert awaited([quiet, wrong], CARD, 1) is None
