"""How a recording is packed: by zstd, by gzip or not at all, on its way into the file.

RFC 8878 (zstd), RFC 1952 (gzip). Neither tells a time or a name.
"""

import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum
from typing import BinaryIO, cast

from numa_agent.core.errors import SourceError

Packer = Callable[[BinaryIO], AbstractContextManager[BinaryIO]]
"""Makes of a stream one whose bytes arrive there packed, whole when its block ends."""

_GZIP_LEVEL = 6
"""Nine takes twice the time for a hundredth less."""
_ZSTD_LEVEL = 1
"""Of a recording three makes no less and takes 2 MiB more; six takes 4 MiB for a tenth less."""


class Packing(Enum):
    """A way to pack, by the ends of the names of files packed so."""

    ZSTD = (".tar.zst", ".tzst")
    GZIP = (".tar.gz", ".tgz")
    NONE = (".tar",)


ENDS = tuple(end for packing in Packing for end in packing.value)
"""The ends of names by which a way to pack is known."""


def packing_of(name: str) -> Packing | None:
    """The way to pack that a file's name tells, None where it tells none."""
    return next((packing for packing in Packing if name.endswith(packing.value)), None)


def packer(packing: Packing) -> Packer:
    """What packs that way. Raises SourceError where Python's library for it can't be had."""
    if packing is Packing.ZSTD:
        return _zstd_packer()
    return _gzipped if packing is Packing.GZIP else _plain


@contextmanager
def _plain(stream: BinaryIO) -> Iterator[BinaryIO]:
    yield stream


@contextmanager
def _gzipped(stream: BinaryIO) -> Iterator[BinaryIO]:
    with gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0) as file:
        yield cast("BinaryIO", file)


def _zstd_packer() -> Packer:
    # Here, so that nothing that records otherwise, nor the daemon, pays for it.
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import CompressionParameter, ZstdFile
        else:
            from backports.zstd import CompressionParameter, ZstdFile
    # Of another Python or a too old libzstd it says so by a RuntimeError.
    except (ImportError, RuntimeError) as error:
        raise SourceError(
            f"can't pack by zstd, Python's library for it doesn't load: {error};"
            " name a file that ends in .tar.gz instead, which takes no such library"
        ) from error
    options: dict[int, int] = {
        CompressionParameter.compression_level: _ZSTD_LEVEL,
        CompressionParameter.checksum_flag: 1,
    }

    @contextmanager
    def zstandard(stream: BinaryIO) -> Iterator[BinaryIO]:
        with ZstdFile(stream, "wb", options=options) as file:
            yield cast("BinaryIO", file)

    return zstandard
