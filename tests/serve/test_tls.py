"""TLS: who may connect, and certificates that change while they are served."""

import shutil
import socket
import ssl
import subprocess
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import pytest

from numa_agent.core.errors import SourceError
from numa_agent.serve.answer import lines
from numa_agent.serve.certificates import LOOK_SECONDS, Certificates
from numa_agent.serve.places import MOST_OF_PEER
from numa_agent.serve.server import Server
from tests.serve.clients import connected, get, rest
from tests.serve.conftest import HASTY_SECONDS, Start
from tests.serve.reports import Clock

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="the command openssl, which makes keys, isn't there"
)


@dataclass(frozen=True)
class Pair:
    certificate: Path
    key: Path

    def copy_to(self, other: "Pair") -> None:
        """Replace both files, one after the other."""
        for mine, theirs in ((self.certificate, other.certificate), (self.key, other.key)):
            fresh = theirs.with_suffix(".new")
            shutil.copy(mine, fresh)
            fresh.rename(theirs)


def make_pair(folder: Path, name: str, *options: str) -> Pair:
    folder.mkdir(parents=True, exist_ok=True)
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-days", "2", "-subj", f"/CN={name}"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(pair.key), "-out", str(pair.certificate)),
            *(options or ("-nodes",)),
        ],
        check=True,
        capture_output=True,
        timeout=30,
    )
    return pair


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, Pair]:
    folder = tmp_path_factory.mktemp("keys")
    return make_pair(folder, "first"), make_pair(folder, "second")


@pytest.fixture
def mounted(pairs: tuple[Pair, Pair], tmp_path: Path) -> Pair:
    """A copy of the first pair, that the test may change."""
    pair = Pair(tmp_path / "tls.crt", tmp_path / "tls.key")
    pairs[0].copy_to(pair)
    return pair


def trusting(pair: Pair) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=pair.certificate)


def served(start: Start, certificates: Certificates) -> Server:
    return start(lambda _: lines(HTTPStatus.OK, ["secret"]), certificates)


def shows(server: Server, pair: Pair) -> bool:
    try:
        return get(server, "/", tls=trusting(pair)).status == 200
    except ssl.SSLCertVerificationError:
        return False


def test_it_is_served_by_tls(mounted: Pair, start: Start) -> None:
    server = served(start, Certificates(mounted.certificate, mounted.key))
    assert get(server, "/", tls=trusting(mounted)).body == b"secret\n"


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        (ssl.TLSVersion.TLSv1_1, False),
        (ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
def test_tls_is_1_2_or_newer(
    version: ssl.TLSVersion, taken: bool, mounted: Pair, start: Start
) -> None:
    server = served(start, Certificates(mounted.certificate, mounted.key))
    context = trusting(mounted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    # Debian's OpenSSL offers 1.1 at a lower level of security only.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if taken:
        assert get(server, "/", tls=context).status == 200
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            get(server, "/", tls=context)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"", b"\x16\x03\x01", b"\x00" * 500])
def test_who_speaks_no_tls_learns_nothing(data: bytes, mounted: Pair, start: Start) -> None:
    server = served(start, Certificates(mounted.certificate, mounted.key))
    with connected(server) as connection:
        connection.sendall(data)
        with suppress(OSError):  # it may have been sent off already
            connection.shutdown(socket.SHUT_WR)
        assert b"secret" not in rest(connection)
    assert shows(server, mounted)


def test_who_never_ends_the_handshake_is_sent_off(mounted: Pair, start: Start) -> None:
    certificates = Certificates(mounted.certificate, mounted.key)
    server = start(lambda _: lines(HTTPStatus.OK, ["secret"]), certificates, HASTY_SECONDS)
    with connected(server) as connection:
        connection.sendall(b"\x16\x03\x01\x02")
        rest(connection)
    assert shows(server, mounted)


def test_handshakes_that_never_end_do_not_keep_a_probe_out(mounted: Pair, start: Start) -> None:
    certificates = Certificates(mounted.certificate, mounted.key)
    server = start(lambda _: lines(HTTPStatus.OK, ["secret"]), certificates, 30.0)
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_OF_PEER)]
    try:
        for each in slow:
            each.sendall(b"\x16\x03\x01\x02")
        started = time.monotonic()
        assert shows(server, mounted)
        assert time.monotonic() - started < 20
    finally:
        for each in slow:
            each.close()


def test_a_changed_pair_is_served_without_a_restart(
    mounted: Pair, pairs: tuple[Pair, Pair], start: Start
) -> None:
    clock = Clock()
    server = served(start, Certificates(mounted.certificate, mounted.key, clock))
    assert shows(server, pairs[0])
    pairs[1].copy_to(mounted)
    assert shows(server, pairs[0])  # not looked at again so soon
    clock.now += LOOK_SECONDS
    assert shows(server, pairs[1])
    assert not shows(server, pairs[0])


def test_a_secret_that_is_swapped_by_its_link_is_seen(
    pairs: tuple[Pair, Pair], tmp_path: Path
) -> None:
    for name, pair in zip(("..1", "..2"), pairs, strict=True):
        (tmp_path / name).mkdir()
        pair.copy_to(Pair(tmp_path / name / "tls.crt", tmp_path / name / "tls.key"))
    data = tmp_path / "..data"
    data.symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    clock = Clock()
    certificates = Certificates(tmp_path / "tls.crt", tmp_path / "tls.key", clock)
    before = certificates.context()
    fresh = tmp_path / "..data_tmp"
    fresh.symlink_to("..2")
    fresh.rename(data)
    clock.now += LOOK_SECONDS
    assert certificates.context() is not before
    assert certificates.trouble is None


def test_an_unchanged_pair_is_not_read_again(mounted: Pair) -> None:
    clock = Clock()
    certificates = Certificates(mounted.certificate, mounted.key, clock)
    before = certificates.context()
    clock.now += 3600
    assert certificates.context() is before


def half_changed(mounted: Pair, other: Pair) -> None:
    shutil.copy(other.certificate, mounted.certificate)


def gone(mounted: Pair, _: Pair) -> None:
    mounted.key.unlink()


def emptied(mounted: Pair, _: Pair) -> None:
    mounted.certificate.write_text("")


def garbage(mounted: Pair, _: Pair) -> None:
    mounted.key.write_bytes(b"\x00\xff" * 100)


def a_folder(mounted: Pair, _: Pair) -> None:
    mounted.key.unlink()
    mounted.key.mkdir()


def swapped(mounted: Pair, _: Pair) -> None:
    mounted.key.rename(mounted.key.with_suffix(".was"))
    mounted.certificate.rename(mounted.key)
    mounted.key.with_suffix(".was").rename(mounted.certificate)


FAULTS = [half_changed, gone, emptied, garbage, a_folder, swapped]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pair_that_can_not_be_used_leaves_the_one_before(
    fault: Callable[[Pair, Pair], None], mounted: Pair, pairs: tuple[Pair, Pair], start: Start
) -> None:
    clock = Clock()
    certificates = Certificates(mounted.certificate, mounted.key, clock)
    server = served(start, certificates)
    fault(mounted, pairs[1])
    clock.now += LOOK_SECONDS
    assert shows(server, pairs[0])
    trouble = certificates.trouble or ""
    assert str(mounted.certificate) in trouble
    assert "the certificate from before is served" in trouble
    if mounted.key.is_dir():
        mounted.key.rmdir()
    pairs[1].copy_to(mounted)
    clock.now += LOOK_SECONDS
    assert shows(server, pairs[1])
    assert certificates.trouble is None


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_served_without_a_pair_at_the_start(
    fault: Callable[[Pair, Pair], None], mounted: Pair, pairs: tuple[Pair, Pair]
) -> None:
    fault(mounted, pairs[1])
    with pytest.raises(SourceError, match=r"can't use the TLS certificate .*give a PEM"):
        Certificates(mounted.certificate, mounted.key)


def test_an_encrypted_key_is_refused_and_no_password_asked_for(tmp_path: Path) -> None:
    pair = make_pair(tmp_path, "locked", "-passout", "pass:secret")
    with pytest.raises(SourceError, match="can't use the TLS certificate"):
        Certificates(pair.certificate, pair.key)
