"""The agent's own settings that change what a pass makes of a machine, for its replay."""

import json
from pathlib import Path

from numa_agent.config import Config, read_overrides
from numa_agent.config.settings import SETTINGS
from numa_agent.core.recording import measured, words
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.wiring.recording.parts import Parts

FILE = "settings.yaml"
OVERRIDES = "overrides.yaml"
DISTANCES = "distances.json"

REPLAYED = {
    *("scheduler", "topologyPolicy", "topologyScope", "podFingerprint", "podFingerprintPods"),
    *("memoryZones", "mems", "sharedPods", "cpuQuota", "trustedManagers", "assigner"),
    *("nvml", "podresources", "kubeletConfig", "localityOverrides", "measuredDistances"),
}
"""Of the sources those alone that say whether one is asked, or name a file that comes along."""
NOT_REPLAYED = {
    *("hostRoot", "liveRoot", "nodeName", "kubeconfig", "kubeletConfigDir", "takeover"),
    *("metrics", "metricsTlsCert", "metricsTlsKey", "metricsAuth", "metricsContainers"),
    *("assignerGraceSeconds", "assignerAnnotate", "assignerUnplaced", "assignerEvictSeconds"),
    *("events", "passSeconds", "verifySeconds", "lockFile", "logFormat"),
    *("gpuPlugin", "gpuResource", "gpuPass", "shapes"),
}
"""What is only of this node, or changes nothing in what a pass makes of it."""

_MOST_BYTES = 64 * 1024


def add_settings(parts: Parts, config: Config) -> None:
    """Add the settings that aren't the defaults, and the files that they name."""
    _add_overrides(parts, config)
    _add_distances(parts, config)
    if _lines(config, Names(b"", keep=True)):
        parts.add(
            FILE, "the settings that change a pass", lambda names: "".join(_lines(config, names))
        )


def _add_overrides(parts: Parts, config: Config) -> None:
    if config.locality_overrides is None:
        return
    overrides = read_overrides(config.locality_overrides)
    text = "".join(f"{entry.text}\n" for entry in overrides.entries)
    parts.add(OVERRIDES, "addresses and nodes", lambda _: text)
    parts.left_out += [(OVERRIDES, "an entry that can't be used")] * len(overrides.problems)


def _add_distances(parts: Parts, config: Config) -> None:
    if config.measured_distances is None:
        return
    content = _content(config.measured_distances)
    parts.add(DISTANCES, "the members read", lambda names: measured.distances(content, names))


def _content(path: Path) -> str:
    """A file's text, nothing where it can't be read, which is no distances either."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode()
    except (OSError, ValueError):
        return ""


def _lines(config: Config, names: Names) -> list[str]:
    """The lines of the settings that aren't the defaults."""
    told = {setting.key: _written(config, setting.key) for setting in SETTINGS}
    lines = [
        f"{setting.key}: {json.dumps(value)}\n"
        for setting in SETTINGS
        if setting.key in REPLAYED
        and (value := told[setting.key]) is not None
        and value != setting.default
    ]
    if config.trusted_managers:
        trusted = [words.manager(names, each) for each in config.trusted_managers]
        lines.append(f"trustedManagers: {json.dumps(trusted)}\n")
    return lines


def _written(config: Config, key: str) -> str | None:
    """A setting's word, None where it has none here."""
    setting = next(each for each in SETTINGS if each.key == key)
    value = getattr(config, setting.field)
    if key == "localityOverrides":
        return None if value is None else OVERRIDES
    if key == "measuredDistances":
        return None if value is None else DISTANCES
    if setting.on is not None:
        other = next(word for word in setting.words if word != setting.on)
        return setting.on if value else other
    return value if value in setting.words else None
