"""Sources as facts of the doctor: each with the reason where it gives nothing."""

import os
from collections.abc import Callable
from typing import TypeVar

from numa_agent.config import Config, ConfigError
from numa_agent.core.doctor import Told
from numa_agent.core.errors import SourceError

T = TypeVar("T")


def tell(
    config: Config, source: str, read: Callable[[], T | None], absent: str = "not told"
) -> Told[T]:
    """What a source gives; `absent` is said where it gives None.

    What is refused to a plain user wasn't looked at: it says nothing of the source.
    """
    try:
        value = read()
    except (SourceError, ConfigError) as error:
        failed = os.geteuid() == 0 or not isinstance(error.__cause__, PermissionError)
        return Told(source=source, why=shortened(config, str(error)), failed=failed)
    return Told(source=source, value=value, why=absent if value is None else "")


def shortened(config: Config, message: str) -> str:
    """A message with the machine's paths as the machine has them."""
    root = str(config.host_root)
    return message if root == "/" else message.replace(f"{root}/", "")
