"""A whole control plane on loopback: scheduler and controllers beside etcd and the API server."""

import base64
import json
import secrets
from collections.abc import Sequence
from pathlib import Path

from tests.apiserver import control_plane as bare

HOST = "10.0.2.2"
"""The address at which a guest of QEMU's user network reaches this machine's loopback."""

SERVICE = "10.0.0.1"
"""The address of the Service `kubernetes`, the first of the API server's range."""

NAMES = (
    f"IP:127.0.0.1,IP:{HOST},IP:{SERVICE},DNS:localhost,"
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
)

EXTENSIONS = """\
[server]
basicConstraints=critical,CA:FALSE
authorityKeyIdentifier=keyid
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectAltName={names}
[client]
basicConstraints=critical,CA:FALSE
authorityKeyIdentifier=keyid
keyUsage=critical,digitalSignature
extendedKeyUsage=clientAuth
"""
"""What RFC 5280 wants of a certificate, which Python 3.13 holds a server's to."""


class ControlPlane(bare.ControlPlane):
    """`tests.apiserver`'s with an authority, kube-scheduler, kube-controller-manager and tokens
    for kubelets. `programs` holds NODE_PROGRAMS too.
    """

    def __init__(self, programs: Path, nodes: Sequence[str]) -> None:
        super().__init__(programs)
        self._users = {f"system:{name}": secrets.token_hex(16) for name in bare.NODE_PROGRAMS}
        self._nodes = {f"system:node:{name}": secrets.token_hex(16) for name in nodes}

    @property
    def port(self) -> int:
        """The API server's, on loopback."""
        return self._port

    @property
    def logs(self) -> list[Path]:
        """What the programs said, each in a file of its name."""
        return [server.log for server in self._servers]

    def node_kubeconfig(self, node: str) -> str:
        """The kubeconfig of a guest's kubelet, with nothing of this machine's files in it."""
        path = self.kubeconfig_for(node, self._nodes[f"system:node:{node}"])
        content = json.loads(path.read_text())
        content["clusters"][0]["cluster"] = {
            "server": f"https://{HOST}:{self._port}",
            "certificate-authority-data": base64.b64encode(self.ca_file.read_bytes()).decode(),
        }
        return json.dumps(content)

    def resume(self) -> None:
        super().resume()
        for name, more in (
            ("kube-scheduler", ()),
            (
                "kube-controller-manager",
                (
                    *("--use-service-account-credentials", "--root-ca-file", str(self.ca_file)),
                    *("--service-account-private-key-file", "sa.key"),
                ),
            ),
        ):
            own = str(self.kubeconfig_for(name, self._users[f"system:{name}"]))
            # Port 0 serves nothing; whoever wants to look reads the log.
            serving = ("--secure-port", "0", "--leader-elect=false")
            self._start(name, "--kubeconfig", own, *serving, *more)
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")

    def _write_certificates(self) -> Path:
        (self._folder / "extensions").write_text(EXTENSIONS.format(names=NAMES))
        self._openssl(
            *("req", "-x509", "-nodes", "-newkey", "ec", *bare.CURVE, "-days", "2"),
            *("-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=kubernetes"),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign,cRLSign"),
        )
        self._sign("server", "server", "/CN=kube-apiserver")
        # As kubeadm's: whom kubelet's authorizer asks the API server about.
        self._sign("kubelet-client", "client", "/O=system:masters/CN=kube-apiserver")
        return self._folder / "ca.crt"

    def _sign(self, name: str, extensions: str, subject: str) -> None:
        key = ("-newkey", "ec", *bare.CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self._openssl("req", "-nodes", *key, "-subj", subject)
        self._openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", "-days", "2"),
            *("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-extfile", "extensions", "-extensions", extensions),
        )

    def _server_arguments(self) -> Sequence[str]:
        rows = [f"{token},{user},{user}" for user, token in self._users.items()]
        rows += [f'{token},{user},{user},"system:nodes"' for user, token in self._nodes.items()]
        with (self._folder / "tokens.csv").open("a") as tokens:
            tokens.writelines(f"{row}\n" for row in rows)
        return (
            *("--client-ca-file", "ca.crt", "--enable-admission-plugins", "NodeRestriction"),
            *("--kubelet-client-certificate", "kubelet-client.crt"),
            *("--kubelet-client-key", "kubelet-client.key"),
            # A guest's node has the name of the loopback address at which its kubelet is reached.
            *("--kubelet-preferred-address-types", "Hostname"),
        )
