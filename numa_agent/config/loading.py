"""The configuration from its file, the command line and the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numa_agent.config.contradictions import contradictions
from numa_agent.config.document import read_entries
from numa_agent.config.given import Given, of_environment, of_file, of_flag
from numa_agent.config.kinds import Setting, Value, converted
from numa_agent.config.model import Config, ConfigError
from numa_agent.config.settings import BY_KEY, SETTINGS
from numa_agent.core.overrides import Overrides
from numa_agent.core.overrides import parse as parse_overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """A setting's value and where it comes from.

    `origin` is `default`, `flag --host-root`, `environment NODE_NAME` or the file and line.
    """

    setting: Setting
    value: Value | None
    origin: str


def load(
    file: str | Path | None,
    flags: Mapping[str, str | None],
    environment: Mapping[str, str] = os.environ,
) -> Config:
    """The configuration: flags over the YAML file over the environment (NODE_NAME).

    Flags are by the file's keys, None where not given. Raises ConfigError with all mistakes.
    """
    return config_of(effective(file, flags, environment))


def config_of(settings: tuple[Effective, ...]) -> Config:
    """All settings as one value."""
    fields: dict[str, Any] = {
        each.setting.field: converted(each.setting, each.value) for each in settings
    }
    return Config(**fields)


def effective(
    file: str | Path | None,
    flags: Mapping[str, str | None],
    environment: Mapping[str, str] = os.environ,
) -> tuple[Effective, ...]:
    """Every setting, in the table's order, with its origin. Arguments and errors are as load's."""
    mistakes: list[str] = []
    given = {} if file is None else _of_file(file, mistakes)
    for key, text in flags.items():
        if text is not None:
            given[key] = of_flag(BY_KEY[key], text)
            mistakes += given[key].mistakes
    for key, named in of_environment(environment).items():
        if key not in given:
            given[key] = named
            mistakes += named.mistakes
    mistakes += contradictions(given)
    if mistakes:
        raise ConfigError("\n  ".join(["the configuration has mistakes:", *mistakes]), mistakes)
    return tuple(_effective(setting, given.get(setting.key)) for setting in SETTINGS)


def read_overrides(file: Path | None) -> Overrides:
    """The operator's locality overrides. Raises ConfigError when the file itself isn't usable."""
    if file is None:
        return Overrides()
    # As text, since YAML takes an address without quotes for a number in base 60.
    entries = read_entries(file, "0000:3b:00.0: 1")
    return parse_overrides((key.text, value.text) for key, value in entries)


def _of_file(file: str | Path, mistakes: list[str]) -> dict[str, Given]:
    if file == "":
        mistakes.append("the configuration file's name must not be empty")
        return {}
    try:
        return of_file(Path(file), mistakes)
    except ConfigError as error:
        mistakes += error.mistakes
        return {}


def _effective(setting: Setting, given: Given | None) -> Effective:
    if given is None:
        return Effective(setting=setting, value=setting.default, origin="default")
    return Effective(setting=setting, value=given.value, origin=given.origin)
