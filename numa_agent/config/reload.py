"""The configuration of a running agent, read anew when its file changes.

A ConfigMap's volume is swapped as a whole by a symlink (`..data`), so that the file that the path
leads to is another one
(https://kubernetes.io/docs/concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically).
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numa_agent.config.loading import Effective, config_of, effective
from numa_agent.config.model import Config, ConfigError

_Identity = tuple[int, ...]
"""Which file, and its state: device and inode first; empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What became of a changed file.

    `config` is what holds now: as before where there are `mistakes`, each with its line. `changed`
    are the settings that it took over. `restart` are those that the file sets otherwise and that
    hold only after a restart; in `config` they are as before.
    """

    config: Config
    mistakes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


class Reload:
    """The configuration from a file, options and the environment, which follows the file."""

    def __init__(
        self,
        file: str | Path | None,
        flags: Mapping[str, str | None],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Read everything, as load does. Raises ConfigError with all mistakes."""
        self._file = file
        self._given = (dict(flags), dict(environment))
        # Looked at before it is read: a change in between is seen at the next look.
        self._read = self._seen = () if file is None else _identity(file)
        self._settings = effective(file, *self._given)
        self._config = config_of(self._settings)
        if self._read and not stat.S_ISREG(self._read[2]):
            # A pipe has given all it had.
            self._file = None

    @property
    def config(self) -> Config:
        """What holds now."""
        return self._config

    @property
    def pending(self) -> bool:
        """Whether the last look saw a change that isn't taken yet: look again in a second."""
        return self._seen != self._read

    def look(self) -> Reloaded | None:
        """What a change of the file brought, None where nothing changed. Never raises.

        It costs one stat. A file that is put in the place of another, as with a ConfigMap, is read
        at once. One that is written where it is may be half there: it is read when it is the same
        at two looks, and so is a file that is gone.
        """
        if self._file is None:
            return None
        now, before = _identity(self._file), self._seen
        self._seen = now
        if now == self._read:
            return None
        swapped = bool(now) and bool(self._read) and now[:2] != self._read[:2]
        if now != before and not swapped:
            return None
        self._read = now
        return self._taken(self._file)

    def _taken(self, file: str | Path) -> Reloaded:
        try:
            if self._read and not stat.S_ISREG(self._read[2]):
                # A pipe would be waited for.
                raise ConfigError(f"{file}: isn't a regular file any more")
            wanted = effective(file, *self._given)
        except ConfigError as error:
            return Reloaded(config=self._config, mistakes=error.mistakes)
        differing = [
            (old, new)
            for old, new in zip(self._settings, wanted, strict=True)
            if old.value != new.value
        ]
        self._settings = tuple(
            _held(old, new) for old, new in zip(self._settings, wanted, strict=True)
        )
        self._config = config_of(self._settings)
        return Reloaded(
            config=self._config,
            changed=tuple(old.setting.key for old, _ in differing if old.setting.live),
            restart=tuple(old.setting.key for old, _ in differing if not old.setting.live),
        )


def _held(old: Effective, new: Effective) -> Effective:
    return new if new.setting.live or new.value == old.value else old


def _identity(file: str | Path) -> _Identity:
    """Of the file that the path leads to; its times change with its content, and with a swap."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return ()
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
