"""The agent in its container, under its real token, against a real API server."""

import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apiserver.control_plane import ControlPlane
from tests.manifests import container
from tests.manifests.conftest import Build
from tests.manifests.container import Container
from tests.manifests.installing import AGENT, Installed, container_of, install
from tests.manifests.objects import NAMESPACE, Json, apply, bound_token, named
from tests.manifests.person import settled

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(300)]

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def installed(plane: ControlPlane, box: Container, built: Build, tmp_path: Path) -> Installed:
    node = f"running-{tmp_path.name.replace('_', '-')}"[:60].rstrip("-")
    return install(plane, built("overlays/kube-scheduler"), box, node, {})


def test_from_apply_to_published(installed: Installed) -> None:
    """The transcript: applied, the pod made, its token handed over, `run` until it is ready."""
    with installed.running() as process:
        zones = installed.zones()
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = installed.agent[probe]["httpGet"]["path"]
            settled(probe, answers(installed, path))
            print(f"{probe}: GET {path}: 200")
        memory = resident_mebibytes(process.pid)
        print(f"noderesourcetopology: {len(zones)} zones; resident memory: {memory} MiB")
    nodes = sorted(
        int(path.name.removeprefix("node"))
        for path in Path("/sys/devices/system/node").glob("node[0-9]*")
    )
    assert [zone["name"] for zone in zones] == [f"node-{number}" for number in nodes]
    requested = int(installed.agent["resources"]["requests"]["memory"].removesuffix("Mi"))
    assert memory < requested, f"{memory} MiB"


def answers(installed: Installed, path: str) -> Callable[[], bool]:
    return lambda: status(installed, path) == 200


def resident_mebibytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024


def test_what_was_bound_is_taken_back_with_the_same_rights(
    built: Build, installed: Installed
) -> None:
    daemon_set = named(built("overlays/restore"), "DaemonSet", "numa-agent")
    (agent,) = daemon_set["spec"]["template"]["spec"]["containers"]
    installed.box.run([*AGENT, *agent["args"]], installed.environment)


@pytest.fixture
def secured(
    bare_control_plane: ControlPlane,
    crd: Json,
    built: Build,
    kubelet_dir: Path,
    tmp_path: Path,
) -> Installed:
    """The profile with metrics over TLS, on a server of its own for its rights."""
    reason = container.missing()
    if reason is not None:
        pytest.skip(reason)
    objects = built("overlays/metrics-tls")
    bare_control_plane.install_crd(crd)
    apply(bare_control_plane, objects)
    certificate = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-days", "2"]
    curve = ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=numa-agent"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", "tls.key", "-out", "tls.crt"]
    subprocess.run(
        [*certificate, *curve, *names, *files], cwd=tmp_path, check=True, capture_output=True
    )
    pair = {name: (tmp_path / name).read_text() for name in ("tls.crt", "tls.key")}
    box = container_of(objects, tmp_path, kubelet_dir)
    return install(bare_control_plane, objects, box, "secured", {"tls": pair})


def status(installed: Installed, path: str, token: str | None = None) -> int:
    """The HTTP status of a path, over TLS where the pod's probes use it; 0 without an answer."""
    secure = installed.agent["livenessProbe"]["httpGet"].get("scheme") == "HTTPS"
    trust = installed.box.folder / "tls.crt"
    context = ssl.create_default_context(cafile=trust) if secure else None
    address = f"{'https' if secure else 'http'}://{installed.address}{path}"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except urllib.error.URLError:
        return 0  # it doesn't listen yet


def test_metrics_over_tls_are_for_those_who_were_given_the_right(secured: Installed) -> None:
    plane = secured.plane
    for name in ("reader", "other"):
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        plane.ask("POST", path, {"metadata": {"name": name}})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACE}
    reference = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "numa-agent-metrics-reader",
    }
    binding = {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": reference}
    plane.ask("POST", f"{RBAC}/clusterrolebindings", binding)
    reader, other = (bound_token(plane, name, None) for name in ("reader", "other"))
    with secured.running():
        settled("readiness", answers(secured, "/readyz"))
        assert status(secured, "/healthz") == 200
        settled("the reader's right", lambda: status(secured, "/metrics", reader) == 200)
        assert status(secured, "/metrics") == 401
        assert status(secured, "/metrics", "wrong") == 401
        assert status(secured, "/metrics", other) == 403
