"""Runs commands in the guest for whoever knows the token: one JSON line in, one out."""

import hmac
import json
import socketserver
import subprocess
import sys
from pathlib import Path

TOKEN = Path(sys.argv[1]).read_text()


class Handler(socketserver.StreamRequestHandler):
    """One command a connection."""

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        if not hmac.compare_digest(asked["token"], TOKEN):
            return
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", asked["command"]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=asked["seconds"],
            )
            answer = {"code": done.returncode, "said": done.stdout.decode(errors="replace")}
        except subprocess.TimeoutExpired as error:
            answer = {"code": 124, "said": (error.stdout or b"").decode(errors="replace")}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    """Several at once."""

    allow_reuse_address = True
    daemon_threads = True


Server(("0.0.0.0", 7022), Handler).serve_forever()
