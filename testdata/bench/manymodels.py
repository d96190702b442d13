"""The figure "many_models": hundreds of small models. How long a server starts with all of them, its
memory with its processes, and how many of them it loads and unloads a second by the control API.

Ensembles are what both servers load without a process for each model: they share one Python model.
Models of ONNX Runtime and of our own backend are ours alone, unless NVIDIA's server has a backend for
them."""

import concurrent.futures
import contextlib
import functools
import json
import pathlib
import shutil
import tempfile
import time
import urllib.request

TENSOR = "%s { name: %s data_type: TYPE_FP32 dims: [ 4 ] }\n"
IO = TENSOR % ("input", '"IN"') + TENSOR % ("output", '"OUT"')
GROUP = "instance_group { kind: KIND_CPU count: 1 }\n"
MODEL = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
"""


def write(root, name, config, files=()):
    version = root / name / "1"
    version.mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(config)
    for file, content in files:
        (version / file).write_bytes(content)


def ensembles(root, n, bench):
    write(root, "part", f'backend: "python"\nmax_batch_size: 8\n{IO}{GROUP}', [("model.py", MODEL.encode())])
    step = 'model_name: "part" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" }'
    for i in range(n):
        write(root, f"m{i:04}", f'platform: "ensemble"\nmax_batch_size: 8\n{IO}ensemble_scheduling {{ step {{ {step} }} }}\n')


def python_models(root, n, bench):
    for i in range(n):
        write(root, f"m{i:04}", f'backend: "python"\nmax_batch_size: 8\n{IO}{GROUP}', [("model.py", MODEL.encode())])


def onnx_models(root, n, bench):
    source = pathlib.Path(bench.args.models).absolute() / "simple"
    config = (source / "config.pbtxt").read_text()
    content = (source / "1" / "model.onnx").read_bytes()
    for i in range(n):
        write(root, f"m{i:04}", bench.one_thread(config).replace('name: "simple"', "", 1), [("model.onnx", content)])


def own_models(root, n, bench):
    io = IO.replace('"IN"', '"INPUT0"').replace('"OUT"', '"OUTPUT0"')
    for i in range(n):
        write(root, f"m{i:04}", f'backend: "identity"\nmax_batch_size: 8\n{io}{GROUP}')


def call(server, path, body=b"{}"):
    request = urllib.request.Request(f"http://{server.http}{path}", data=body, method="POST")
    with urllib.request.urlopen(request, timeout=600) as response:
        return response.read()


def memory(server, bench):
    """The proportional share of the memory of the server and its processes: they share pages."""
    total = 0
    for p in bench.descendants(server.process.pid):
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{p}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def ours(bench, repository, more=()):
    # NVIDIA's server finds the interpreter on the path that its script sets.
    python = pathlib.Path(bench.args.oracle).absolute() / "venv" / "bin" / "python"
    return bench.ours(repository, more=[f"--backend-config=python,python-executable={python}", *more])


def started(start, repository, bench):
    with start(repository) as server:
        return {"start": server.ready_seconds, "cpu": server.cpu(), "memory": memory(server, bench)}


def controlled(start, repository, n):
    names = sorted(p.name for p in pathlib.Path(repository).iterdir() if p.name.startswith("m"))
    with start(repository, more=["--model-control-mode=explicit"]) as server:

        def each(what):
            began = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda m: call(server, f"/v2/repository/models/{m}/{what}"), names))
            while what == "unload" and any(m.get("state") in ("UNLOADING", "READY") and m["name"] != "part" for m in index()):
                time.sleep(0.01)
            return n / (time.monotonic() - began)

        def index():
            return json.loads(call(server, "/v2/repository/index"))

        if (pathlib.Path(repository) / "part").exists():
            call(server, "/v2/repository/models/part/load")  # starts a process
        loads = each("load")
        began = time.monotonic()
        ready = sum(m.get("state") == "READY" and m["name"] != "part" for m in index())
        listing = time.monotonic() - began
        if ready != n:
            raise SystemExit(f"{ready} of {n} models are ready")
        return {"loads": loads, "index": listing, "unloads": each("unload")}


CASES = [  # what, how many, who
    ("ensembles over one Python model", ensembles, 100, "both"),
    ("ensembles over one Python model", ensembles, 1500, "both"),
    ("ONNX Runtime", onnx_models, 100, "ours"),
    ("ONNX Runtime", onnx_models, 1500, "ours"),
    ("`identity`, built in", own_models, 1500, "ours"),
    ("Python", python_models, 100, "both"),
]


def many_models(bench):
    print("### Many models\n")
    print("Start: all at the start. Loads and unloads: one request each, four at a time; an unload has ended when the index says so.\n")
    rows = []
    for what, make, n, who in CASES:
        if bench.args.cases and bench.args.cases not in f"{what}/{n}":
            continue
        n = min(n, bench.args.most)
        repository = tempfile.mkdtemp(prefix="many-")
        make(pathlib.Path(repository), n, bench)
        for side, start in (("ours", functools.partial(ours, bench)), ("NVIDIA", bench.nvidias)):
            if side == "NVIDIA" and who == "ours":
                continue
            one = bench.interleave({side: lambda start=start: {**started(start, repository, bench), **controlled(start, repository, n)}})[side]
            rows.append([
                what, n, side, f"{one['start']:.2f} s", f"{one['cpu']:.2f} s", f"{one['memory'] / 2**20:.0f} MiB",
                f"{one['loads']:.0f}", f"{one['unloads']:.0f}", f"{one['index'] * 1e3:.1f} ms",
            ])  # fmt: skip
            print("|", " | ".join(map(str, rows[-1])), "|", flush=True)
        shutil.rmtree(repository)
    print()
    bench.table(["models", "number", "server", "start to ready", "processor time", "memory", "loads/s", "unloads/s", "index"], rows)
