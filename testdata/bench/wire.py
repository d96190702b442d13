"""The figure `wire`: an identity model over every kind of request, on our server and NVIDIA's.

The load is our own wireload (testdata/bench/wireload), the same for both servers and light
enough that the server is the limit. The model is `identity`: our builtin backend, and NVIDIA's
own identity backend where --nvidia-backends has one, else a Python model.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

KB, MB = 1 << 10, 1 << 20

# Kind of request, bytes of its tensor, requests at a time.
CASES = [
    ("json", KB, 8), ("json", KB, 64), ("json", MB, 4),
    ("binary", KB, 8), ("binary", KB, 64), ("binary", MB, 4), ("binary", 10 * MB, 2),
    ("grpc", KB, 8), ("grpc", KB, 64), ("grpc", MB, 4), ("grpc", 10 * MB, 2),
    ("shm-http", 10 * MB, 2), ("shm-grpc", 10 * MB, 2),
]  # fmt: skip

NAMES = {
    "json": "HTTP JSON", "binary": "HTTP binary", "grpc": "gRPC",
    "shm-http": "shared memory, HTTP", "shm-grpc": "shared memory, gRPC",
}  # fmt: skip

CONFIG = """backend: "%s"
max_batch_size: 64
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
"""

PYTHON_MODEL = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([
                pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy())
            ])
            for r in requests
        ]
"""


def repository(backend):
    models = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    (models / "identity" / "1").mkdir(parents=True)
    (models / "identity" / "config.pbtxt").write_text(CONFIG % backend)
    if backend == "python":
        (models / "identity" / "1" / "model.py").write_text(PYTHON_MODEL)
    return str(models)


def counters(server):
    """Our own counters by metric and labels; none on other servers."""
    text = urllib.request.urlopen(f"http://{server.metrics}/metrics").read().decode()
    lines = [l.rsplit(" ", 1) for l in text.splitlines() if l.startswith("triton_")]
    return {name: float(value) for name, value in lines}


COUNTED = {
    "in": 'triton_tensor_bytes_copied_total{to="model"}',
    "out": 'triton_tensor_bytes_copied_total{to="client"}',
    "allocations": "triton_heap_allocations_total",
}


def load(bench, server, kind, size, concurrency, core):
    argv = ["taskset", "-c", str(core)] if core is not None else []
    argv += ["build/wireload", "-http", server.http, "-grpc", server.grpc, "-kind", kind]
    argv += ["-size", str(size), "-concurrency", str(concurrency), "-window", f"{bench.args.seconds}s"]
    n, cpu, before = server.requests("identity"), server.cpu(), counters(server)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60 + 10 * bench.args.seconds)
    if done.returncode:
        sys.exit(f"{argv} failed:\n{done.stderr}")
    after, cpu, n = counters(server), server.cpu() - cpu, server.requests("identity") - n
    result = {**json.loads(done.stdout), "server_us": cpu / n * 1e6}
    for name, metric in COUNTED.items():
        result[name] = (after.get(metric, 0) - before.get(metric, 0)) / n
    return result


def number(v):
    return f"{v:.0f}" if v >= 100 else f"{v:.1f}" if v >= 1 else f"{v:.2f}"


def row(kind, size, concurrency, m):
    x, y = m["ours"], m["nvidia"]
    cells = [
        NAMES[kind], f"{size // MB} MB" if size >= MB else f"{size // KB} KB", concurrency,
        number(x["per_second"]), number(y["per_second"]), f"{x['per_second'] / y['per_second']:.2f}",
        number(x["per_second"] * size / 1e6), number(y["per_second"] * size / 1e6),
        number(x["server_us"]), number(y["server_us"]), f"{x['server_us'] / y['server_us']:.2f}",
        number(x["p50"]), number(y["p50"]), number(x["p99"]), number(y["p99"]),
        f"{x['in']:.0f}", f"{x['out']:.0f}", f"{x['allocations']:.1f}",
    ]  # fmt: skip
    if "base" in m:
        b = m["base"]
        cells += [number(b["per_second"]), number(b["server_us"]), f"{x['server_us'] / b['server_us']:.2f}", f"{b['allocations']:.1f}"]
    return cells


HEADER = ["", "tensor", "conc.", "ours req/s", "NVIDIA req/s", "ratio", "ours MB/s", "NVIDIA MB/s",
          "ours CPU us", "NVIDIA CPU us", "ratio", "ours p50 us", "NVIDIA p50", "ours p99", "NVIDIA p99",
          "bytes copied to the model", "to the client", "allocations"]  # fmt: skip


def wire(bench):
    args = bench.args
    if subprocess.run(["go", "build", "-o", "build/wireload", "./testdata/bench/wireload"]).returncode:
        sys.exit("cannot build the load generator")
    native = args.nvidia_backends and (pathlib.Path(args.nvidia_backends) / "identity").is_dir()
    print(f"### The wire: `identity` (NVIDIA: {'its identity backend' if native else 'a Python identity model'})\n")
    mine, theirs = repository("identity"), repository("identity" if native else "python")
    header = HEADER + (["base req/s", "base CPU us", "ours to base", "base allocations"] if args.base else [])
    cases = [c for c in CASES if (not args.sizes or c[1] in args.sizes) and (not args.kinds or c[0] in args.kinds)]
    for core in (0, None):
        print("Server and client on one core (GOMAXPROCS 1 for ours):\n" if core == 0 else "Not pinned:\n")
        rows = []
        with bench.contextlib.ExitStack() as stack:
            servers = {
                "ours": stack.enter_context(bench.ours(mine, core, more=["--allow-client-shm=true"])),
                "nvidia": stack.enter_context(bench.nvidias(theirs, core)),
            }
            if args.base:
                servers["base"] = stack.enter_context(bench.Server([os.path.abspath(args.base), "serve"], mine, core))
            for case in cases:
                sides = {
                    name: (lambda s=s: load(bench, s, *case, core))
                    for name, s in servers.items() if name != "base" or "shm" not in case[0]
                }  # fmt: skip
                rows.append(row(*case, bench.interleave(sides)))
        bench.table(header, rows)
