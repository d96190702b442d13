"""The figure `generator`: requests per second and CPU time of the load generator of `triton perf`.

The server answers with fixed bytes, in a process and on a processor of its own. The floor is a client
that does nothing but one write and one read for each request (testdata/bench/generator)."""

import json
import os
import pathlib
import subprocess
import sys

LEVELS = (1, 8, 64)
PROGRAM = "build/generator"


def cpu(pid):
    """CPU time of a process in microseconds, of the kernel's scheduler."""
    return sum(int(t.read_text().split()[0]) for t in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e3


def client(bench, what, server, address, protocol, concurrency, pinned):
    argv = [PROGRAM, what, "-address", address, "-protocol", protocol, "-concurrency", str(concurrency)]
    argv += ["-window", f"{bench.args.seconds}s"]
    env = dict(os.environ)
    if pinned:
        argv, env["GOMAXPROCS"] = ["taskset", "-c", "0", *argv], "1"
    before = cpu(server.pid)
    done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=60 + 10 * bench.args.seconds)
    if done.returncode:
        sys.exit(f"{argv} failed:\n{done.stderr}")
    m = json.loads(done.stdout)
    return {**m, "server_us": (cpu(server.pid) - before) / m["requests"]}


def generator(bench):
    if subprocess.run(["go", "build", "-o", PROGRAM, "./testdata/bench/generator"]).returncode:
        sys.exit("cannot build the generator")
    print(f"### The load generator against a server that does nothing (load average {os.getloadavg()[0]:.1f} at the start)\n")
    rows = []
    for pinned in (True, False):
        argv = ["taskset", "-c", "1", PROGRAM, "serve"] if pinned else [PROGRAM, "serve"]
        server = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, "GOMAXPROCS": "1"})
        try:
            addresses = dict(server.stdout.readline().split() for _ in range(2))
            for protocol, address in addresses.items():
                for n in LEVELS:
                    m = bench.interleave({
                        what: (lambda what=what: client(bench, what, server, address, protocol, n, pinned)) for what in ("load", "floor")
                    })  # fmt: skip
                    x, y = m["load"], m["floor"]
                    row = [protocol, n, "one each" if pinned else "both"]
                    row += [f"{x['per_second']:.0f}", f"{y['per_second']:.0f}", f"{x['cpu_us']:.1f}", f"{y['cpu_us']:.1f}", f"{x['server_us']:.1f}"]
                    row += [f"{x['user_us']:.1f}", f"{x['p50']:.0f}", f"{x['p99']:.0f}"]
                    rows.append(row)
                    print("\t".join(map(str, row)), file=sys.stderr, flush=True)
        finally:
            server.kill()
            server.wait()
    bench.table(["Protocol", "Concurrency", "Processors", "req/s", "floor req/s", "client CPU us", "floor CPU us", "server CPU us",
                 "client not in the kernel", "p50 us", "p99 us"], rows)  # fmt: skip
