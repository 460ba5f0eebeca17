"""A real Kubernetes control plane on loopback: etcd and kube-apiserver, built from Go modules.

The first start on a machine builds them (minutes, from sources that the Go module proxy serves);
the built programs stay in .cache/apiserver/, one folder for each state of tools/go.mod.
"""

import contextlib
import hashlib
import http.client
import json
import os
import re
import secrets
import shutil
import ssl
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.ports import free_port

TOOLS = Path(__file__).with_name("tools")
CACHE = Path(__file__).parents[2] / ".cache" / "apiserver"
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
}
NODE_PROGRAMS = {
    name: f"k8s.io/kubernetes/cmd/{name}"
    for name in ("kube-controller-manager", "kube-scheduler", "kubectl", "kubelet")
}
"""What a cluster with a node takes besides: tests/e2e has one."""

COMMANDS = ("go", "openssl", "setpriv")
CURVE = ("-pkeyopt", "ec_paramgen_curve:prime256v1")

BUILD_SECONDS = 1800
READY_SECONDS = 180
STOP_SECONDS = 2
LOG_LINES = 30

AUDITED = ("topology.node.k8s.io", "scheduling.koordinator.sh")
"""API groups whose requests are recorded; of the core group, ConfigMaps, Events and Pods."""


class ControlPlaneError(Exception):
    """The control plane can't be built or doesn't run; the message ends with the log's tail."""


def missing() -> str | None:
    """Return why no control plane can be built here, None where it can."""
    for command in COMMANDS:
        if shutil.which(command) is None:
            return f"a real API server needs the command {command}, which is not installed"
    if _go("list", "-m", seconds=60).returncode == 0:
        return None
    installed = subprocess.run(["go", "version"], capture_output=True, text=True, cwd="/").stdout
    wanted = _in_go_mod(r"^go (\S+)$")
    if _numbers(installed) >= _numbers(wanted):
        return None  # new enough: the build says what is wrong
    return f"a real API server needs Go {wanted}, installed is: {installed.strip() or 'unknown'}"


def build(programs: Mapping[str, str] = PROGRAMS) -> Path:
    """Return the folder that holds every one of `programs`, after building those not there yet."""
    version = _in_go_mod(r"^\s*k8s\.io/kubernetes (v\S+)")
    state = b"".join((TOOLS / name).read_bytes() for name in ("go.mod", "go.sum"))
    folder = CACHE / f"{version}-{hashlib.sha256(state).hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, package in programs.items():
        if not (folder / name).exists():
            _build(package, folder / name, version)
    return folder


def _build(package: str, program: Path, version: str) -> None:
    """Link one program under another name and rename it, so that a half-made one is never run."""
    unfinished = program.with_name(f".{program.name}.{os.getpid()}")
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion={version}"
    arguments = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags]
    try:
        done = _go("build", *arguments, "-o", str(unfinished), package, seconds=BUILD_SECONDS)
        if done.returncode != 0:
            raise ControlPlaneError(f"go build {package} failed:\n{_tail(done.stderr)}")
        unfinished.rename(program)
    finally:
        unfinished.unlink(missing_ok=True)


def _go(*arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run go in the tools module; without cgo, so that no C compiler is needed."""
    environment = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}
    command = ["go", *arguments]
    return subprocess.run(
        command, cwd=TOOLS, env=environment, capture_output=True, text=True, timeout=seconds
    )


def _in_go_mod(pattern: str) -> str:
    found = re.search(pattern, (TOOLS / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise ControlPlaneError(f"{TOOLS / 'go.mod'} has no line like {pattern}")
    return found[1]


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first dotted number of a text as something that compares: (1, 26, 0)."""
    found = re.search(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _tail(log: str) -> str:
    return "\n".join(log.splitlines()[-LOG_LINES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """One running program and the file that takes its output."""

    process: subprocess.Popen[bytes]
    log: Path

    def stop(self) -> None:
        """End it, gently for STOP_SECONDS: the data is thrown away anyhow."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)


class ControlPlane:
    """etcd and kube-apiserver from `programs`, running while the `with` block does.

    `url`, `ca_file` and the paths of the kubeconfigs are known once it is entered. `kubeconfig` is
    an admin's (group system:masters), `stranger_kubeconfig` that of a user without any right.
    Everything lies in a temporary folder that goes with it. The requests for AUDITED are recorded.
    """

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._servers: list[_Server] = []

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="numa-agent-apiserver-"))
        try:
            self._write_identity()
            self._write_audit_policy()
            self.resume()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End both servers and remove their folder; a second time does nothing."""
        self.halt()
        shutil.rmtree(self._folder, ignore_errors=True)

    def halt(self) -> None:
        """End both servers and keep their data.

        The API server goes first: without its etcd it would not end by itself.
        """
        while self._servers:
            self._servers.pop().stop()

    def resume(self) -> None:
        """Start both servers on the data that there is, at the same address."""
        self._start_servers()
        self._wait_for("/readyz")
        self._wait_for("/api/v1/namespaces/default")  # made a moment later

    def save(self) -> Path:
        """Copy the data of the halted servers and return where the copy lies."""
        assert not self._servers, "halt first: data in use can't be copied"
        copy = Path(tempfile.mkdtemp(prefix="saved-", dir=self._folder))
        shutil.copytree(self._folder / "data", copy, dirs_exist_ok=True)
        return copy

    def load(self, saved: Path | None) -> None:
        """Give the halted servers the data of a copy, none at all for None."""
        assert not self._servers, "halt first: data in use can't be replaced"
        data = self._folder / "data"
        shutil.rmtree(data)
        if saved is not None:
            shutil.copytree(saved, data)

    def requests(self, name: str, *, agent: str = "numa-agent") -> list[str]:
        """The verbs that a client sent about an object of that name, in order of the answers.

        `agent` begins the client's User-Agent. Of AUDITED only, and over every restart.
        """
        found = []
        for line in self._audited():
            event = json.loads(line)
            same = event.get("objectRef", {}).get("name") == name
            if same and event.get("userAgent", "").startswith(agent):
                found.append(event["verb"])
        return found

    def counted(self, resource: str, *, agent: str = "numa-agent") -> Counter[str]:
        """How often a client sent each verb about objects of a resource, such as `events`."""
        found: Counter[str] = Counter()
        for line in self._audited():
            event = json.loads(line)
            same = event.get("objectRef", {}).get("resource") == resource
            if same and event.get("userAgent", "").startswith(agent):
                found[event["verb"]] += 1
        return found

    def pod_requests(self, user: str, *, agent: str = "numa-agent") -> list[str]:
        """The verbs that a client sent as that user about Pods, of each one once.

        A list of one name, which reads nothing but the server's version, is a `compare`.
        """
        found = {}
        for line in self._audited():
            event = json.loads(line)
            subject = event.get("objectRef", {})
            ours = event.get("userAgent", "").startswith(agent)
            if ours and subject.get("resource") == "pods" and event["user"]["username"] == user:
                named = event["verb"] == "list" and "name" in subject
                # A watch is written down when it begins and when it ends.
                found[event["auditID"]] = "compare" if named else event["verb"]
        return list(found.values())

    def compact(self) -> None:
        """Have etcd forget every revision but its latest."""
        put = self._etcd("kv/range", {"key": "AA=="})
        self._etcd("kv/compaction", {"revision": put["header"]["revision"], "physical": True})

    def _etcd(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Ask etcd through its JSON gateway."""
        connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", f"/v3/{path}", json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
        assert answer.status == 200, f"etcd {path}: HTTP {answer.status}: {text}"
        found: dict[str, Any] = json.loads(text)
        return found

    @property
    def process_ids(self) -> list[int]:
        """The processes of etcd and of the API server while they run."""
        return [server.process.pid for server in self._servers]

    def kubeconfig_for(self, user: str, token: str) -> Path:
        """Write a kubeconfig that signs in with a bearer token and return its path."""
        path = self._folder / f"{user}.kubeconfig"
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": user, "context": {"cluster": "test", "user": user}}],
            "current-context": user,
        }
        path.write_text(json.dumps(content, indent=2))
        return path

    def ask(
        self,
        verb: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """Send one request as the admin and return its JSON answer; AssertionError unless 2xx.

        This is how tests lay out and look at the cluster without the code that they test.
        """
        status, text = self._request(verb, path, body, content_type)
        assert 200 <= status < 300, f"{verb} {path}: HTTP {status}: {text}"
        answer: dict[str, Any] = json.loads(text)
        return answer

    def install_crd(self, manifest: Mapping[str, Any]) -> None:
        """Create a CustomResourceDefinition and wait until every served version answers."""
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.ask("POST", definitions, manifest)
        spec = manifest["spec"]
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
            self._wait_for(path)

    def _write_identity(self) -> None:
        """Write keys, the server's certificate, tokens and kubeconfigs."""
        self._etcd_port, self._peer_port, self._port = (free_port() for _ in range(3))
        self.url = f"https://127.0.0.1:{self._port}"
        self.ca_file = self._write_certificates()
        self._openssl("genpkey", "-algorithm", "EC", *CURVE, "-out", "sa.key")
        self._openssl("pkey", "-in", "sa.key", "-pubout", "-out", "sa.pub")
        self._token, stranger = secrets.token_hex(16), secrets.token_hex(16)
        users = f'{self._token},admin,1,"system:masters"\n{stranger},stranger,2\n'
        (self._folder / "tokens.csv").write_text(users)
        self.kubeconfig = self.kubeconfig_for("admin", self._token)
        self.stranger_kubeconfig = self.kubeconfig_for("stranger", stranger)
        self._tls = ssl.create_default_context(cafile=self.ca_file)

    def _write_certificates(self) -> Path:
        """Write server.crt and server.key; return the authority's file: here itself."""
        self._openssl(
            *("req", "-x509", "-nodes", "-newkey", "ec", *CURVE, "-days", "2"),
            *("-keyout", "server.key", "-out", "server.crt", "-subj", "/CN=kube-apiserver"),
            *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign"),
        )
        return self._folder / "server.crt"

    def _audited(self) -> list[str]:
        """Return the audit log once it has come to a request of our own.

        A request is written down when it is answered, which may be after its client has read that.
        """
        mark = secrets.token_hex(8)
        self._request("GET", f"/api/v1/namespaces/default/configmaps/{mark}")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            log = self._audit_log.read_text()
            if mark in log and log.endswith("\n"):
                return log.splitlines()
            time.sleep(0.01)
        raise ControlPlaneError("the API server doesn't write its audit log")

    def _write_audit_policy(self) -> None:
        """Have the requests that tests count recorded, each when it is answered."""
        self._audit_log = self._folder / "audit.log"
        resources: list[dict[str, object]] = [{"group": group} for group in AUDITED]
        resources.append({"group": "", "resources": ["configmaps", "events", "pods"]})
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "Metadata", "resources": resources}, {"level": "None"}],
        }
        (self._folder / "audit-policy.yaml").write_text(json.dumps(policy))

    def _openssl(self, *arguments: str) -> None:
        command = ["openssl", *arguments]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise ControlPlaneError(f"{' '.join(command)} failed:\n{_tail(done.stderr)}")

    def _start_servers(self) -> None:
        etcd = f"http://127.0.0.1:{self._etcd_port}"
        self._start(
            *("etcd", "--data-dir", "data", "--unsafe-no-fsync", "--log-level", "warn"),
            *("--listen-client-urls", etcd, "--advertise-client-urls", etcd),
            *("--listen-peer-urls", f"http://127.0.0.1:{self._peer_port}"),
        )
        self._start(
            *("kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1"),
            *("--secure-port", str(self._port), "--cert-dir", "certificates"),
            *("--tls-cert-file", "server.crt", "--tls-private-key-file", "server.key"),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--service-account-key-file", "sa.pub"),
            *("--service-account-signing-key-file", "sa.key"),
            *("--token-auth-file", "tokens.csv", "--authorization-mode", "Node,RBAC"),
            *("--audit-policy-file", "audit-policy.yaml", "--audit-log-path", "audit.log"),
            *("--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none"),
            *self._server_arguments(),
        )

    def _server_arguments(self) -> Sequence[str]:
        """What else the API server is told."""
        # No controller makes ServiceAccounts here, so pods must do without one.
        return ("--disable-admission-plugins", "ServiceAccount")

    def _start(self, program: str, *arguments: str) -> None:
        """Start one program that dies with this process, even when this one is killed."""
        log = self._folder / f"{program}.log"
        guard: Sequence[str] = ("setpriv", "--pdeathsig", "KILL")
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*guard, str(self._programs / program), *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._servers.append(_Server(process=process, log=log))

    def _wait_for(self, path: str) -> None:
        """Wait until a GET of the path is answered with 200, for READY_SECONDS at most."""
        last = "nothing"
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            self._check_servers()
            try:
                status, last = self._request("GET", path)
            except OSError as error:
                last = str(error)
            else:
                if status == 200:
                    return
            time.sleep(0.1)
        raise ControlPlaneError(
            f"GET {path} not answered with 200 within {READY_SECONDS} s, last: {last}\n"
            + "\n".join(_tail(server.log.read_text()) for server in self._servers)
        )

    def _check_servers(self) -> None:
        for server in self._servers:
            code = server.process.poll()
            if code is not None:
                log = _tail(server.log.read_text())
                raise ControlPlaneError(f"{server.log.stem} ended with status {code}:\n{log}")

    def _request(
        self,
        verb: str,
        path: str,
        body: Mapping[str, object] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, str]:
        """Send one request as the admin and return HTTP status and text."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=30, context=self._tls
        )
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        with contextlib.closing(connection):
            connection.request(verb, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
