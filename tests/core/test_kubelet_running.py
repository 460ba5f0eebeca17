"""What kubelet runs with, by its configuration and by the state that it keeps."""

from numa_agent.core.kubelet import CpuManagerState, KubeletSettings, MemoryManagerState
from numa_agent.core.kubelet_running import running

STATIC = CpuManagerState(policy="static", shared=frozenset(), entries={})
MEMORY = MemoryManagerState(policy="Static", pools={}, entries={})


def test_a_configuration_that_agrees_with_the_state_stands() -> None:
    settings = KubeletSettings(cpu_manager_policy="static", memory_manager_policy="Static")
    assert running(settings, STATIC, MEMORY) == (settings, ())
    assert running(KubeletSettings(), None, None) == (KubeletSettings(), ())


def test_the_state_counts_where_the_configuration_says_another_policy() -> None:
    settings, conditions = running(KubeletSettings(), STATIC, MEMORY)
    assert (settings.cpu_manager_policy, settings.memory_manager_policy) == ("static", "Static")
    assert [each.code for each in conditions] == ["policy-differs"] * 2
    assert "says none, the state that it keeps static" in conditions[0].message


def test_without_a_configuration_the_state_tells_the_policies_and_the_rest_is_said_unknown() -> (
    None
):
    settings, conditions = running(None, STATIC, None)
    assert (settings.cpu_manager_policy, settings.memory_manager_policy) == ("static", "None")
    assert [each.code for each in conditions] == ["kubelet-settings-unknown"]
