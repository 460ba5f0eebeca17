"""kubelet's files as facts, each with the reason where it isn't known."""

from collections.abc import Callable
from pathlib import Path

from numa_agent.config import KUBELET_DIR, Config
from numa_agent.core.doctor import Told
from numa_agent.core.doctor.facts import KubeletFacts
from numa_agent.core.documents import Document
from numa_agent.core.kubelet import KubeletSettings
from numa_agent.core.kubelet_config import parse_settings
from numa_agent.host.kubelet import read_cpu_state, read_memory_state, read_settings
from numa_agent.host.recorded import is_recorded, read_answer
from numa_agent.wiring.facts import shortened, tell

SettingsRead = tuple[KubeletSettings, tuple[str, ...]]


def read_kubelet(
    config: Config, absent: str, configz: Callable[[], Document] | None
) -> KubeletFacts:
    """What kubelet keeps on the machine; `configz` is what it says that it runs with."""
    root = config.host_root
    there = (root / KUBELET_DIR).is_dir()
    settings = _settings(config, absent, configz)
    value, problems = settings.value or (None, ())
    return KubeletFacts(
        settings=Told(
            source=settings.source, value=value, why=settings.why, failed=settings.failed
        ),
        problems=tuple(shortened(config, problem) for problem in problems),
        cpu_state=tell(
            config,
            f"{KUBELET_DIR}/cpu_manager_state",
            lambda: read_cpu_state(root) if there else None,
            absent,
        ),
        memory_state=tell(
            config,
            f"{KUBELET_DIR}/memory_manager_state",
            lambda: read_memory_state(root) if there else None,
            absent,
        ),
    )


def _settings(
    config: Config, absent: str, configz: Callable[[], Document] | None
) -> Told[SettingsRead]:
    root = config.host_root
    if config.kubelet_config == "configz":
        read = configz
        if read is None and is_recorded(root):
            read = _recorded_configz(root)
        if read is None:
            return Told(source="kubelet's configz", why="no API server to ask for it")
        asked = read
        return tell(config, "kubelet's configz", lambda: parse_settings(asked()), absent)
    given = None if config.kubelet_config == "auto" else config.kubelet_config
    path = None if given is None else Path(given)
    folder = None if config.kubelet_config_dir is None else Path(config.kubelet_config_dir)
    source = (given or f"{KUBELET_DIR}/config.yaml").lstrip("/")
    why = f"{absent}; kubeletConfig names kubelet's file" if config.live else absent
    return tell(config, source, lambda: read_settings(root, path, folder), why)


def _recorded_configz(root: Path) -> Callable[[], Document]:
    return lambda: read_answer(root, "configz")
