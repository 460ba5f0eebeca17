"""Finding the API server, and servers that are none."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from numa_agent.cluster.api import connect
from numa_agent.core.errors import SourceError
from tests.cluster.loopback import CONFIG, kubeconfig_of

CONNECT = """\
from numa_agent.cluster.api import connect
from numa_agent.core.errors import SourceError
try:
    print(connect(None).url)
except SourceError as error:
    print(error)
"""


def connect_elsewhere(**environment: str) -> str:
    """What connect(None) says in a process with that environment and outside of any pod."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", CONNECT],
        env=kept | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@contextmanager
def server_that_says(status: int, body: bytes) -> Iterator[str]:
    """A loopback web server that isn't Kubernetes; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        do_PATCH = do_GET  # noqa: N815 - http.server's spelling

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none"
    with pytest.raises(SourceError, match=f"no kubeconfig at {path}"):
        connect(path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "text",
        "a: [",
        "\x00",
        "apiVersion: v1\nkind: Config\n",
        CONFIG.format(server="https://127.0.0.1:1").replace("current-context: main", ""),
        CONFIG.format(server="https://127.0.0.1:1").replace("context: main", "context: other"),
        CONFIG.format(server="https://127.0.0.1:1").replace("cluster: main", "cluster: other"),
        CONFIG.format(server='https://127.0.0.1:1", certificate-authority: "gone.crt'),
        CONFIG.format(server='https://127.0.0.1:1", certificate-authority-data: "a'),
        CONFIG.format(server="https://127.0.0.1:1").replace("token: secret", "tokenFile: gone"),
    ],
)
def test_an_unusable_kubeconfig_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(SourceError, match=f"can't use kubeconfig {path}: .") as caught:
        connect(path)
    assert caught.value.__cause__ is not None


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"no kubeconfig at {tmp_path}"):
        connect(tmp_path)


def test_without_any_way_every_try_is_named() -> None:
    said = connect_elsewhere(KUBECONFIG="/nowhere/config")
    assert "KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT isn't set" in said
    assert "/nowhere/config" in said
    assert "--kubeconfig" in said


def test_outside_of_a_pod_the_default_kubeconfig_counts(tmp_path: Path) -> None:
    path = kubeconfig_of("https://127.0.0.1:1", tmp_path)
    assert connect_elsewhere(KUBECONFIG=str(path)).strip() == "https://127.0.0.1:1"


def test_the_default_kubeconfig_may_be_several_files(tmp_path: Path) -> None:
    path = kubeconfig_of("https://127.0.0.1:1", tmp_path)
    said = connect_elsewhere(KUBECONFIG=f"/nowhere/config:{path}")
    assert said.strip() == "https://127.0.0.1:1"


def loaded_by(code: str) -> list[str]:
    """The modules that a process has loaded once it has run the code."""
    code = f"import sys, numa_agent.cluster.api as api; {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_none_of_the_library_s_model_classes_is_loaded(tmp_path: Path) -> None:
    path = kubeconfig_of("https://127.0.0.1:1", tmp_path)
    loaded = loaded_by(f"import pathlib; api.connect(pathlib.Path({str(path)!r}))")
    assert "kubernetes.client.rest" in loaded
    assert not [name for name in loaded if name.startswith("kubernetes.client.models.")]


def test_without_a_kubeconfig_the_library_isnt_loaded() -> None:
    assert "urllib3" in (loaded := loaded_by("pass"))
    assert not [name for name in loaded if name.partition(".")[0] == "kubernetes"]


def test_a_closed_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{unused.getsockname()[1]}"
        with (
            closing(connect(kubeconfig_of(server, tmp_path))) as cluster,
            pytest.raises(SourceError, match=f"can't get Node n at {server}: .*refused"),
        ):
            cluster.node("n")


def test_a_server_without_an_answer_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with (
            closing(connect(kubeconfig_of(server, tmp_path))) as cluster,
            pytest.raises(
                SourceError, match=f"can't list Pods on Node n at {server}: .*timed out"
            ),
        ):
            cluster.pods_on("n")


@pytest.mark.parametrize("status", [200, 302, 404, 502])
def test_a_server_that_is_no_api_server_is_named(status: int, tmp_path: Path) -> None:
    with (
        server_that_says(status, b"<html>welcome</html>") as server,
        closing(connect(kubeconfig_of(server, tmp_path))) as cluster,
        pytest.raises(SourceError, match=f"Node n at {server}: HTTP {status}: <html>welcome"),
    ):
        cluster.node("n")


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"items": []}',
        b'{"metadata": {}}',
        b'{"items": null, "metadata": {}}',
        b'{"items": {"a": 1}, "metadata": {}}',
        b'{"items": [], "metadata": []}',
        b"[" * 100_000,
    ],
)
def test_a_list_of_another_shape_is_named(body: bytes, tmp_path: Path) -> None:
    with (
        server_that_says(200, body) as server,
        closing(connect(kubeconfig_of(server, tmp_path))) as cluster,
        pytest.raises(
            SourceError, match=f"list Pods on Node n at {server}: .*does a Kubernetes API server"
        ),
    ):
        cluster.pods_on("n")


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"metadata": []}', b'{"metadata": {}}', b'{"metadata": {"resourceVersion": 7}}'],
)
def test_an_object_without_a_version_is_named(body: bytes, tmp_path: Path) -> None:
    manifest = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n"},
    }
    with (
        server_that_says(200, body) as server,
        closing(connect(kubeconfig_of(server, tmp_path))) as cluster,
        pytest.raises(
            SourceError, match=r"no metadata\.resourceVersion; does a Kubernetes API server"
        ),
    ):
        cluster.apply(manifest)
