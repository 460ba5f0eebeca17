"""Recording a machine: what a pass reads of it, from where a pass reads it, into one file.

Everything is gone through twice: first to hear the names, so that their pseudonyms can keep the
names' order, then to write.
"""

import secrets
import time
from dataclasses import dataclass
from typing import BinaryIO

from numa_agent import __version__
from numa_agent.config import Config, ConfigError
from numa_agent.core.recording import manifest, rules
from numa_agent.core.recording.manifest import LeftOut, Recorded
from numa_agent.core.recording.pseudonyms import Names
from numa_agent.host.recording.archive import LEAST, Archive, archived
from numa_agent.host.recording.groups import find_groups
from numa_agent.host.recording.machine import find_map, limit_of
from numa_agent.host.recording.packing import Packing, packer
from numa_agent.host.recording.pci import find_pci, has_nvidia
from numa_agent.host.recording.plain import LeftOutError
from numa_agent.host.recording.spots import Finds, FoundFile, FoundFolder
from numa_agent.host.recording.tree import Tree
from numa_agent.wiring.recording.answers import add_answers
from numa_agent.wiring.recording.files import add_decisions, add_kubelet, add_mounts
from numa_agent.wiring.recording.parts import Parts
from numa_agent.wiring.recording.settings import add_settings

DEFAULT_LIMIT = 64 << 20
_SECONDS = 300.0
"""After which no more is read: a machine takes seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is in a recording, what isn't and why; and why sources failed, in words with names.

    `names` knows what each pseudonym stands for, and stays here.
    """

    recorded: tuple[Recorded, ...]
    left_out: tuple[LeftOut, ...]
    failures: tuple[str, ...]
    names: Names


def record_once(
    config: Config,
    stream: BinaryIO,
    *,
    packing: Packing,
    limit: int = DEFAULT_LIMIT,
    keep_names: bool = False,
    seconds: float = _SECONDS,
) -> Recording:
    """Write the recording of the machine that the configuration names into a stream.

    `limit` is in bytes when unpacked; reading ends after `seconds`. Raises ConfigError for a limit
    that is too small, and SourceError when the host root can't be opened or the way to pack can't
    be had.
    """
    if limit < LEAST:
        raise ConfigError(f"the limit must be at least {LEAST} bytes, not {limit}")
    packed = packer(packing)
    names = Names(secrets.token_bytes(32), keep=keep_names)
    parts = Parts()
    with parts.opened(config.host_root, time.monotonic() + seconds) as tree:
        finds = Finds(tree)
        find_map(finds)
        find_pci(finds)
        add_settings(parts, config)
        root = add_kubelet(parts, tree, config)
        add_decisions(parts, tree, config)
        learned = add_answers(parts, tree, config, nvidia=has_nvidia(finds))
        add_mounts(parts, tree, config.host_root)
        find_groups(finds, config.host_root, learned.cgroup_root or root, learned.gpu_files)
        parts.hear(names)
        finds.hear(names)
        names.settle()
        with packed(stream) as file, archived(file, limit) as archive:
            parts.write(archive, names)
            _write(finds, tree, archive, names)
            text = manifest.render(
                __version__, archive.recorded, archive.left_out, keep_names=keep_names
            )
            archive.end(manifest.NAME, text)
    return Recording(
        recorded=tuple(archive.recorded),
        left_out=tuple(archive.left_out),
        failures=tuple(parts.failures),
        names=names,
    )


def _write(finds: Finds, tree: Tree, archive: Archive, names: Names) -> None:
    for found in finds.found:
        path = found.spot.path(names)
        if isinstance(found, FoundFolder):
            archive.folder(path)
        elif isinstance(found, FoundFile):
            try:
                data = tree.read(found.real, limit_of(found.form))
            except LeftOutError as error:
                if not error.missing:
                    archive.leave_out(path, str(error))
                continue
            archive.file(path, found.form(names, data), rules.RULES[found.form])
        else:
            archive.link(path, found.target(names))
    for spot, why in finds.left_out:
        archive.leave_out(spot.path(names), why)
