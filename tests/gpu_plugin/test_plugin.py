"""The plugin put together in this process: maps are shown to it, kubelet is a real gRPC one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.core.gpu_plugin import Health, Wish
from numa_agent.core.podresources import parse_pod_resources
from numa_agent.wiring import gpu_plugin
from numa_agent.wiring.gpu_plugin import GpuPlugin
from numa_agent.wiring.neighbours import Neighbours
from tests.gpu_plugin.machines import mute, topology_of, with_device, with_nvml
from tests.gpu_plugin.node import Node
from tests.host.deviceplugin.kubelet import AdmissionError, eventually, kubelet

RESOURCE = "aliyun.com/gpu"
EIGHT = topology_of("two-socket-8gpu")
MUTE_SECONDS = 3.0


class Plugin(GpuPlugin):
    """One whose look around is due when the test says so."""

    def look_around(self) -> None:
        self._check_at = 0.0


@contextmanager
def plugin_on(node: Node, said: list[str], **settings: object) -> Iterator[Plugin]:
    """A plugin that serves; its health waits for a blink of an eye."""
    health = Health(quiet_seconds=0.5, mute_seconds=MUTE_SECONDS)
    plugin = Plugin(node.config(**settings), said.append, health=health)
    try:
        plugin.hold()
        plugin.see(EIGHT)
        plugin.start()
        yield plugin
    finally:
        plugin.close()


@pytest.fixture
def said() -> list[str]:
    return []


def codes(plugin: GpuPlugin) -> list[str]:
    return [condition.code for condition in plugin.conditions()]


def test_lost_cards_and_mute_drivers_come_and_go(node: Node, said: list[str]) -> None:
    with node.granting(), kubelet(node.plugins) as known, plugin_on(node, said) as plugin:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        assert codes(plugin) == []
        plugin.see(with_nvml(EIGHT, 3, uuid=None, lost=True))
        eventually(lambda: known.healthy(RESOURCE) == {*node.ids} - {node.ids[3]})
        assert codes(plugin) == ["gpu-card-unhealthy"]
        plugin.see(EIGHT)
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        began = time.monotonic()
        plugin.see(mute(EIGHT))
        well = len(known.healthy(RESOURCE))
        assert well == 8 or time.monotonic() - began > MUTE_SECONDS
        eventually(lambda: not known.healthy(RESOURCE))
        assert codes(plugin) == ["gpu-card-unhealthy"] * 8
        plugin.see(EIGHT)
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        assert said[-1].endswith("is well again")
        assert known.registered == [RESOURCE]


def test_a_card_of_unknown_place_costs_alignment_and_no_pod(node: Node, said: list[str]) -> None:
    with node.granting(), kubelet(node.plugins) as known, plugin_on(node, said) as plugin:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        with pytest.raises(AdmissionError):
            known.admit(RESOURCE, 1, held=node.ids[4:], node=1)
        plugin.see(with_device(EIGHT, 0, node=None, nodes=()))
        eventually(lambda: not any(known.nodes(RESOURCE).values()))
        assert len(known.admit(RESOURCE, 1, held=node.ids[4:], node=1)[0]) == 1
        assert codes(plugin) == ["gpu-topology-withheld"]


def test_a_rival_that_comes_later_takes_all_cards_out_until_it_has_gone(
    node: Node, said: list[str]
) -> None:
    rival = {
        "list": {},
        "allocatable": {"devices": [{"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-x"]}]},
    }
    with kubelet(node.plugins) as known, node.granting(), plugin_on(node, said) as plugin:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        with node.granting(rival):
            plugin.look_around()
            eventually(lambda: not known.healthy(RESOURCE))
            assert codes(plugin) == ["gpu-plugin-rival"]
            assert len([each for each in said if "nvidia.com/gpu" in each]) == 1
        with node.granting():
            plugin.look_around()
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
            assert codes(plugin) == []


def test_it_isn_t_registered_anew_beside_a_rival(node: Node, said: list[str]) -> None:
    rival = {
        "list": {},
        "allocatable": {"devices": [{"resourceName": "x.y/z", "deviceIds": [node.ids[0]]}]},
    }
    with node.granting(), plugin_on(node, said) as plugin:
        with kubelet(node.plugins) as known:
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        with node.granting(rival), kubelet(node.plugins) as known:
            eventually(lambda: codes(plugin) == ["gpu-plugin-rival"])
            time.sleep(1)
            assert not known.registered


def test_another_plugin_of_the_same_resource_keeps_its_cards(node: Node, said: list[str]) -> None:
    """Who registers last has the resource, and kubelet asks the other one no more."""
    theirs = [{"resourceName": RESOURCE, "deviceIds": [node.ids[0]]}]
    answer = {"list": {}, "allocatable": {"devices": theirs}}
    with node.granting(answer), kubelet(node.plugins) as known, plugin_on(node, said) as plugin:
        eventually(lambda: codes(plugin) == ["gpu-plugin-rival"])
        time.sleep(1)
        assert not known.registered
        with node.granting():
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        # kubelet follows the cards a moment before it answers who registers.
        eventually(lambda: codes(plugin) == [])
        # By now they are our own.
        with node.granting(answer):
            plugin.look_around()
            time.sleep(1.5)
            assert len(known.healthy(RESOURCE)) == 8


def test_our_own_cards_of_a_moment_ago_are_no_rival(
    node: Node, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kubelet takes a while to see that a plugin has ended."""
    before = {"allocatable": {"devices": [{"resourceName": RESOURCE, "deviceIds": node.ids}]}}
    reads: list[bool] = []

    def read(_: object, *, anew: bool) -> object:
        reads.append(anew)
        return parse_pod_resources({"list": {}, **(before if len(reads) == 1 else {})}), {}

    monkeypatch.setattr(Neighbours, "read", read)
    with kubelet(node.plugins) as known, plugin_on(node, said) as plugin:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        assert codes(plugin) == []
        assert not [each for each in said if "another plugin" in each]


def test_cards_without_a_device_file_are_given_to_nobody_where_pods_get_them_so(
    node: Node, said: list[str]
) -> None:
    """kubelet would give such a card again and again, and each pod would fail."""
    dev = node.root / "dev"
    dev.mkdir()
    for name in ("nvidiactl", *(f"nvidia{minor}" for minor in range(8) if minor != 2)):
        (dev / name).touch()
    minors = [gpu.nvml.minor for gpu in EIGHT.gpus if gpu.nvml is not None]
    plugin = GpuPlugin(node.config(gpu_pass="devices"), said.append)
    other = GpuPlugin(node.config(), said.append)
    for each in (plugin, other):
        each.see(with_nvml(EIGHT, 5, minor=None))
    ill = {card.id: card.ailment for card in plugin.offering.offer().cards if card.ailment}
    assert ill.keys() == {node.ids[minors.index(2)], node.ids[5]}
    assert "doesn't tell its minor" in str(ill[node.ids[5]])
    assert not [card for card in other.offering.offer().cards if card.ailment]
    (dev / "nvidia2").touch()
    plugin.see(EIGHT)
    assert not [card for card in plugin.offering.offer().cards if card.ailment]
    (dev / "nvidiactl").unlink()
    plugin.see(EIGHT)
    assert all("load NVIDIA's driver" in str(c.ailment) for c in plugin.offering.offer().cards)


def test_a_wish_that_can_t_be_read_costs_the_pod_nothing(node: Node, said: list[str]) -> None:
    def broken(_: Wish) -> Wish:
        raise RuntimeError("dictionary changed size during iteration")

    plugin = GpuPlugin(node.config(), said.append, wish=broken)
    plugin.see(EIGHT)
    wish = Wish(available=node.ids, must=(), size=4)
    assert [*plugin.offering.prefer(wish)] == node.ids[:4]
    assert "dictionary changed size" in said[-1]


def test_a_card_that_another_resource_s_pod_still_holds_is_given_to_nobody(
    node: Node, said: list[str]
) -> None:
    held = [{"resourceName": "nvidia.com/gpu", "deviceIds": [node.ids[6]]}]
    pod = {"name": "old", "namespace": "ml", "containers": [{"name": "c", "devices": held}]}
    answer = {"list": {"podResources": [pod]}, "allocatable": {}}
    with node.granting(answer), kubelet(node.plugins) as known, plugin_on(node, said):
        eventually(lambda: known.healthy(RESOURCE) == {*node.ids} - {node.ids[6]})
        assert [each for each in said if "pod ml/old holds it as nvidia.com/gpu" in each]


def test_podresources_that_fail_later_change_nothing(node: Node, said: list[str]) -> None:
    with kubelet(node.plugins) as known, node.granting(), plugin_on(node, said) as plugin:
        eventually(lambda: len(known.healthy(RESOURCE)) == 8)
        (node.root / "var/lib/kubelet/pod-resources/kubelet.sock").unlink()
        plugin.look_around()
        time.sleep(1.5)
        assert len(known.healthy(RESOURCE)) == 8


def test_without_kubelet_it_waits_and_says_so(node: Node, said: list[str]) -> None:
    with node.granting(), plugin_on(node, said) as plugin:
        eventually(lambda: codes(plugin) == ["gpu-plugin-unregistered"])
        with kubelet(node.plugins) as known:
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
            eventually(lambda: codes(plugin) == [])


def test_the_pod_s_cpus_may_be_added_to_what_kubelet_asks(node: Node, said: list[str]) -> None:
    asked: list[Wish] = []

    def wish(found: Wish) -> Wish:
        asked.append(found)
        return Wish(
            available=found.available,
            must=found.must,
            size=found.size,
            wanted_cpus=24,
            free_cpus={0: 8, 1: 24},
        )

    plugin = GpuPlugin(node.config(), said.append, wish=wish)
    plugin.see(EIGHT)
    ids = tuple(node.ids)
    assert plugin.offering.prefer(Wish(available=ids, must=(), size=4)) == ids[4:]
    assert asked[0].size == 4


def test_a_second_plugin_on_the_node_is_refused(node: Node, said: list[str]) -> None:
    first, second = (GpuPlugin(node.config(), said.append) for _ in range(2))
    first.hold()
    with pytest.raises(SourceError, match="another numa-agent offers this node's cards"):
        second.hold()
    first.close()
    second.hold()
    second.close()


def test_beside_a_daemon_it_sees_each_map_and_waits_for_the_lock(
    node: Node, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_plugin, "LOCK_SECONDS", 0.1)
    other = GpuPlugin(node.config(), said.append)
    other.hold()
    plugin = GpuPlugin(node.config(), said.append)
    read = plugin.watched(lambda: EIGHT)
    with node.granting(), kubelet(node.plugins) as known:
        try:
            assert read() is EIGHT
            eventually(lambda: codes(plugin) == ["gpu-plugin-unregistered"])
            assert not known.registered
            other.close()
            assert read() is EIGHT
            eventually(lambda: len(known.healthy(RESOURCE)) == 8)
            assert codes(plugin) == []
        finally:
            plugin.close()


def test_a_node_without_cards_offers_no_resource(node: Node, said: list[str]) -> None:
    plugin = GpuPlugin(node.config(), said.append)
    read = plugin.watched(lambda: topology_of("cxl-expander"))
    with node.granting(), kubelet(node.plugins) as known:
        try:
            read()
            time.sleep(1.5)
            assert not known.registered
            assert (codes(plugin), said) == ([], [])
        finally:
            plugin.close()


def test_device_files_are_those_below_the_host_root(node: Node, said: list[str]) -> None:
    dev = node.root / "dev"
    dev.mkdir()
    for name in ("nvidia2", "nvidiactl", "null"):
        (dev / name).touch()
    plugin = GpuPlugin(node.config(gpu_pass="devices"), said.append)
    plugin.see(EIGHT)
    assert plugin.offering.grant([node.ids[2]]).devices == ("nvidia2", "nvidiactl")


def test_the_daemon_has_it_only_where_it_is_asked_for() -> None:
    """It is off by default, and what the daemon imports doesn't bring it along."""
    import subprocess
    import sys

    code = (
        "import sys, numa_agent.wiring.daemon\n"
        "print([m for m in sys.modules if 'deviceplugin' in m or 'gpu_plugin' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
    assert Path(gpu_plugin.__file__).name == "gpu_plugin.py"
