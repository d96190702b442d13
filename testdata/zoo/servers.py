"""Starts a server over a model repository and takes it down again."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

START_SECONDS = 1200


class Server:
    """A server process on free loopback ports, ready when the constructor returns."""

    def __init__(self, argv, models, log):
        self.sockets = [socket.socket() for _ in range(3)]
        for s in self.sockets:  # never closed, so that the kernel gives their ports to nobody else
            s.bind(("127.0.0.1", 0))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lets in the server that names the port
        ports = [s.getsockname()[1] for s in self.sockets]
        argv = [*argv, f"--model-repository={models}", "--exit-on-error=false", "--allow-gpu-metrics=false", "--strict-readiness=false"]
        for name, port in zip(("http", "grpc", "metrics"), ports):
            argv += [f"--{name}-address=127.0.0.1", f"--{name}-port={port}"]
        self.http, self.grpc = (f"127.0.0.1:{p}" for p in ports[:2])
        self.log = pathlib.Path(log)
        started = time.monotonic()
        with self.log.open("w") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out)
        self.wait(started + START_SECONDS)
        self.seconds = time.monotonic() - started
        self.megabytes = self.resident() / 2**20

    def wait(self, deadline):
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, urllib.error.URLError):
                if urllib.request.urlopen(f"http://{self.http}/v2/health/ready", timeout=5).status == 200:
                    return
            time.sleep(0.02)
        tail = self.log.read_text(errors="replace")[-3000:]
        self.close()
        raise SystemExit(f"zoo: the server did not become ready: {' '.join(self.process.args)}\n{tail}")

    def resident(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def close(self):
        """Ends the server as an operator does; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()
