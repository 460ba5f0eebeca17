"""Signing in as a pod's ServiceAccount, without the client library."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import urllib3

from numa_agent.cluster.account import TOKEN_SECONDS, Account, NoAccountError
from numa_agent.cluster.connection import Connection, Request
from numa_agent.core.errors import ApiError, SourceError

SERVICE = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}

NODES = Request(
    what="list Nodes",
    method="GET",
    path="/api/v1/nodes",
    query={},
    content_type="application/json",
    body=None,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_text("a certificate\n")
    return tmp_path


def test_server_and_token_are_those_of_the_container(folder: Path) -> None:
    account = Account(SERVICE, folder)
    assert account.url == "https://127.0.0.1:6443"
    assert account.authorization() == "Bearer first"


def test_an_address_of_ipv6_is_put_in_brackets(folder: Path) -> None:
    account = Account(SERVICE | {"KUBERNETES_SERVICE_HOST": "fd00::1"}, folder)
    assert account.url == "https://[fd00::1]:6443"


@pytest.mark.parametrize("name", SERVICE)
@pytest.mark.parametrize("value", [None, ""])
def test_outside_of_a_pod_there_is_none(name: str, value: str | None, folder: Path) -> None:
    environment = {key: said for key, said in SERVICE.items() if key != name}
    if value is not None:
        environment[name] = value
    with pytest.raises(NoAccountError, match=name):
        Account(environment, folder)


@pytest.mark.parametrize("file", ["token", "ca.crt"])
@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_a_file_that_is_missing_or_damaged_is_named(
    file: str, content: bytes | None, folder: Path
) -> None:
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    if file == "ca.crt" and content == b"\xff":
        assert Account(SERVICE, folder).url  # what it holds is for TLS to say
        return
    with pytest.raises(NoAccountError, match=str(folder / file)):
        Account(SERVICE, folder)


def test_a_rotated_token_is_read_anew_after_a_minute(folder: Path) -> None:
    now = [100.0]
    account = Account(SERVICE, folder, lambda: now[0])
    (folder / "token").write_text("second")
    now[0] += TOKEN_SECONDS - 1
    assert account.authorization() == "Bearer first"
    now[0] += 1
    assert account.authorization() == "Bearer second"


def test_a_token_that_goes_is_the_fault_of_the_request(folder: Path) -> None:
    now = [0.0]
    account = Account(SERVICE, folder, lambda: now[0])
    (folder / "token").unlink()
    now[0] += TOKEN_SECONDS
    with pytest.raises(SourceError, match=str(folder / "token")):
        account.authorization()
    with (
        closing(Connection(account, read_seconds=1)) as connection,
        pytest.raises(ApiError, match=r"can't list Nodes: can't renew the token"),
    ):
        connection.send(NODES)


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "https_proxy", "Https_Proxy", "ALL_PROXY", "all_proxy"]
)
@pytest.mark.parametrize(
    ("passed_by", "proxied"), [("", True), ("127.0.0.0/8", False), ("example.com", True)]
)
def test_a_proxy_counts_unless_the_server_is_passed_by(
    name: str, passed_by: str, proxied: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", passed_by)
    pool = Account(SERVICE | {name: "http://127.0.0.1:3128"}, folder).pool()
    assert isinstance(pool, urllib3.ProxyManager) is proxied
    assert pool.connection_pool_kw["ca_certs"] == str(folder / "ca.crt")
    assert pool.connection_pool_kw["cert_reqs"] in {"CERT_REQUIRED", 2}


def test_the_client_library_isnt_loaded(folder: Path) -> None:
    code = (
        "import sys, pathlib; from numa_agent.cluster import account;"
        f"account.FOLDER = pathlib.Path({str(folder)!r});"
        "from numa_agent.cluster.api import connect; print(connect(None).url);"
        "sys.exit('kubernetes' in sys.modules or 'requests' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=SERVICE, timeout=20
    )
    assert (done.stdout, done.returncode) == ("https://127.0.0.1:6443\n", 0), done.stderr
