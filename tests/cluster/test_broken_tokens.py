"""A token that can't be sent is an error that never shows it."""

import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import urllib3
import yaml

from numa_agent.cluster.account import Account, NoAccountError
from numa_agent.cluster.connection import Connection
from numa_agent.cluster.kubeconfig import Kubeconfig
from numa_agent.core.errors import ApiError, SourceError
from tests.cluster.loopback import CONFIG, loopback
from tests.cluster.test_account import NODES, SERVICE

SECRET = "sec" + "ret"
BROKEN = [
    pytest.param(f"{SECRET}\n{SECRET}", id="line"),
    pytest.param(f"{SECRET}\r\nX: {SECRET}", id="header"),
    pytest.param(f"{SECRET}\u20ac", id="euro"),
    pytest.param(f"{SECRET}\x00", id="zero"),
    pytest.param(f"\ufeff{SECRET}", id="byte-order-mark"),
    pytest.param(f"{SECRET}\x7f", id="delete"),
]


class Plain:
    """An account's way to a server that speaks no TLS."""

    def __init__(self, url: str, authorization: Callable[[], str | None]) -> None:
        self.url = url
        self.authorization = authorization

    def pool(self) -> urllib3.PoolManager:
        return urllib3.PoolManager()


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def put(folder: Path, token: str) -> None:
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_text("a certificate\n")


@pytest.mark.parametrize("token", BROKEN)
def test_at_the_start_it_is_no_account(token: str, tmp_path: Path) -> None:
    put(tmp_path, token)
    with pytest.raises(
        NoAccountError, match=f"{tmp_path}/token: the token can't be sent"
    ) as found:
        Account(SERVICE, tmp_path)
    assert SECRET not in shown(found.value)


@pytest.mark.parametrize("token", BROKEN)
def test_later_it_is_a_failed_request_and_a_whole_one_is_taken_at_once(
    token: str, tmp_path: Path
) -> None:
    now = [0.0]
    put(tmp_path, "first")
    account = Account(SERVICE, tmp_path, lambda: now[0])
    with loopback() as server:
        connection = Connection(Plain(server.url, account.authorization), 60)
        with closing(connection):
            now[0] = 1000.0
            put(tmp_path, token)
            with pytest.raises(ApiError, match=r"list Nodes.*token can't be sent") as found:
                connection.send(NODES)
            assert SECRET not in shown(found.value)
            assert not server.seen
            put(tmp_path, "second")
            connection.send(NODES)
            assert server.seen[-1]["Authorization"] == "Bearer second"


@pytest.mark.parametrize("token", BROKEN)
def test_in_a_kubeconfig_it_is_a_failed_source(token: str, tmp_path: Path) -> None:
    document = yaml.safe_load(CONFIG.format(server="https://127.0.0.1:1"))
    document["users"][0]["user"]["token"] = token
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    entry = Kubeconfig(str(path))
    with pytest.raises(SourceError, match="token can't be sent") as found:
        entry.authorization()
    assert SECRET not in shown(found.value)


@pytest.mark.parametrize("token", BROKEN[:3])
def test_whoever_forgets_to_look_has_an_error_without_it(token: str) -> None:
    with loopback() as server:
        connection = Connection(Plain(server.url, lambda: f"Bearer {token}"), 60)
        with closing(connection), pytest.raises(ApiError, match="request can't be sent") as found:
            connection.send(NODES)
        assert SECRET not in shown(found.value)
        assert not server.seen
