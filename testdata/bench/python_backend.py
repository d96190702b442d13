"""The figure `python`: Python models in both servers, with the same interpreter.

The load is wireload, the same for both servers. CPU is that of the server and its child processes
together. With --quick, a few cases that show most regressions; --cases runs those whose name begins
so, such as `identity/grpc`.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import wire as wires

KB, MB = 1 << 10, 1 << 20

CONFIG = """backend: "python"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
"""

TWO_STEPS = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(r) for r in requests]

    def answer(self, request):
        tensor = pb_utils.get_input_tensor_by_name(request, "INPUT0")
        for _ in range(2):
            response = pb_utils.InferenceRequest(
                model_name="identity", requested_output_names=["OUTPUT0"],
                inputs=[pb_utils.Tensor("INPUT0", tensor.as_numpy())]).exec()
            tensor = pb_utils.get_output_tensor_by_name(response, "OUTPUT0")
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", tensor.as_numpy())])
"""

RESPONSES = 100

DECOUPLED = f"""import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            array = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            for _ in range({RESPONSES}):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", array)]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""

MODELS = {
    "identity": (CONFIG, wires.PYTHON_MODEL),
    "batching": (CONFIG + "dynamic_batching { }\n", wires.PYTHON_MODEL),
    "two_steps": (CONFIG, TWO_STEPS),
    "decoupled": (CONFIG + "model_transaction_policy { decoupled: true }\n", DECOUPLED),
}

# Model, kind of request, bytes of its tensor, requests at a time.
CASES = [
    *(("identity", kind, size, c) for kind in ("grpc", "binary", "shm-grpc") for size in (KB, MB, 16 * MB) for c in (1, 8, 64)
      if size * c < 1 << 30),
    *((model, "grpc", KB, c) for model in ("batching", "two_steps") for c in (1, 8, 64)),
    *(("decoupled", "stream", KB, c) for c in (1, 8, 64)),
]  # fmt: skip

QUICK = {
    ("identity", "grpc", KB, 8), ("identity", "binary", MB, 8), ("identity", "shm-grpc", 16 * MB, 1),
    ("batching", "grpc", KB, 64), ("two_steps", "grpc", KB, 8), ("decoupled", "stream", KB, 8),
}  # fmt: skip

NAMES = {**wires.NAMES, "stream": "gRPC stream", "shm-grpc": "shared memory"}
HEADER = ["model", "protocol", "tensor", "conc.", "ours req/s", "NVIDIA req/s", "ratio", "ours CPU us", "NVIDIA CPU us", "ratio",
          "ours p99 us", "NVIDIA p99", "ours bytes copied"]  # fmt: skip


def repository():
    root = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    for name, (config, program) in MODELS.items():
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
        (root / name / "1" / "model.py").write_text(program)
    return str(root)


def tool():
    return pathlib.Path(tempfile.gettempdir()) / "wireload"


def load(bench, server, model, kind, size, concurrency, core):
    argv = ["taskset", "-c", str(core)] if core is not None else []
    argv += [str(tool()), "-http", server.http, "-grpc", server.grpc, "-model", model, "-kind", kind]
    argv += ["-size", str(size), "-concurrency", str(concurrency), "-window", f"{bench.args.seconds}s"]
    argv += ["-responses", str(RESPONSES)]
    cpu, before = server.cpu(), wires.counters(server)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120 + 10 * bench.args.seconds)
    if done.returncode:
        sys.exit(f"{argv} failed:\n{done.stderr}")
    after, cpu = wires.counters(server), server.cpu() - cpu
    result = json.loads(done.stdout)
    copied = sum(v - before.get(k, 0) for k, v in after.items() if k.startswith("triton_tensor_bytes_copied_total"))
    return {**result, "server_us": cpu / result["calls"] * 1e6, "copied": copied / result["calls"]}


def row(case, m):
    model, kind, size, concurrency = case
    x, y, number = m["ours"], m["nvidia"], wires.number
    return [
        model, NAMES[kind], f"{size // MB} MB" if size >= MB else f"{size // KB} KB", concurrency,
        number(x["per_second"]), number(y["per_second"]), f"{x['per_second'] / y['per_second']:.2f}",
        number(x["server_us"]), number(y["server_us"]), f"{x['server_us'] / y['server_us']:.2f}",
        number(x["p99"]), number(y["p99"]), number(x["copied"]),
    ]  # fmt: skip


def python(bench):
    args = bench.args
    if subprocess.run(["go", "build", "-o", tool(), "./testdata/bench/wireload"]).returncode:
        sys.exit("cannot build the load generator")
    cases = [c for c in CASES if (c in QUICK if args.quick else re.match(args.cases, "/".join(map(str, c))))]
    models = repository()
    interpreter = f"--backend-config=python,python-executable={args.oracle}/bin/python"
    print(f"### Python models, the interpreter of both: {args.oracle}/bin/python\n")
    for core in [None] if args.pinning == "off" else [0] if args.pinning == "on" else [0, None]:
        print("Server, its children and client on one core (GOMAXPROCS 1 for ours):\n" if core == 0 else "Not pinned:\n")
        with bench.ours(models, core, more=["--allow-client-shm=true", interpreter]) as a, bench.nvidias(models, core) as b:
            rows = []
            for case in cases:
                m = bench.interleave({
                    "ours": lambda: load(bench, a, *case, core),
                    "nvidia": lambda: load(bench, b, *case, core),
                })
                rows.append(row(case, m))
                print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
        bench.table(HEADER, rows)
