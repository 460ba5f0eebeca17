"""Signing in to a real API server as a pod does."""

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from numa_agent.cluster.account import Account
from numa_agent.cluster.connection import Connection
from numa_agent.core.errors import ApiError
from tests.apiserver.control_plane import ControlPlane
from tests.cluster.test_account import NODES

pytestmark = pytest.mark.apiserver


def test_a_real_server_is_reached_and_trusted_by_its_own_authority_alone(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    token = control_plane.kubeconfig.read_text().partition('"token": "')[2].partition('"')[0]
    (tmp_path / "token").write_text(token)
    (tmp_path / "ca.crt").write_text(control_plane.ca_file.read_text())
    host, _, port = control_plane.url.removeprefix("https://").rpartition(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    with closing(Connection(Account(environment, tmp_path), read_seconds=60)) as connection:
        assert connection.send(NODES).status == 200
    (tmp_path / "token").write_text("of nobody")
    with closing(Connection(Account(environment, tmp_path), read_seconds=60)) as connection:
        assert connection.send(NODES).status == 401
    (tmp_path / "ca.crt").write_text(stranger_authority(tmp_path))
    with (
        closing(Connection(Account(environment, tmp_path), read_seconds=60)) as connection,
        pytest.raises(ApiError, match="certificate-authority"),
    ):
        connection.send(NODES)


def stranger_authority(folder: Path) -> str:
    """A certificate of somebody else."""
    command = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1"
    command += " -subj /CN=stranger -keyout other.key -out other.crt"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return (folder / "other.crt").read_text()
