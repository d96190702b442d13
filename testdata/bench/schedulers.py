"""The figure "schedulers": requests through each scheduler to backends that do almost nothing, so that
the overhead of the server is measured. Priorities are left out: with those, NVIDIA's server leaves
instances idle for up to half a second, which no load generator considers stable."""

import contextlib
import pathlib
import tempfile

TENSOR = '{ name: "%s" data_type: TYPE_%s dims: [ %d ] }'


def single(backend, tensors, more=""):
    names, kind, size = tensors
    io = "".join(f"{d} {TENSOR % (n, kind, size)}\n" for d, n in zip(("input", "output"), names))
    return f'backend: "{backend}"\nmax_batch_size: 8\n{io}instance_group {{ kind: KIND_CPU count: 1 }}\n{more}'


def identity(more=""):
    return single("identity", (("INPUT0", "OUTPUT0"), "FP32", 16), more)


PAIR = f"""platform: "ensemble"
max_batch_size: 8
input {TENSOR % ("INPUT0", "FP32", 16)}
output {TENSOR % ("OUTPUT0", "FP32", 16)}
ensemble_scheduling {{
  step {{ model_name: "default" model_version: -1
    input_map {{ key: "INPUT0" value: "INPUT0" }} output_map {{ key: "OUTPUT0" value: "between" }} }}
  step {{ model_name: "default" model_version: -1
    input_map {{ key: "INPUT0" value: "between" }} output_map {{ key: "OUTPUT0" value: "OUTPUT0" }} }}
}}
"""

SEQUENCE = """sequence_batching {
  max_sequence_idle_microseconds: 10000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
"""

MODELS = {
    "default": identity(),
    "dynamic": identity("dynamic_batching { }"),
    "dynamic_delay": identity("dynamic_batching { max_queue_delay_microseconds: 100 }"),
    "ensemble": PAIR,
    "cache": identity("response_cache { enable: true }"),
    "sequence": single("sequence", (("INPUT", "OUTPUT"), "INT32", 1), SEQUENCE),
}


def repository(models):
    root = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    for name, config in models.items():
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
    return str(root)


def schedulers(bench):
    backends = pathlib.Path(bench.args.nvidia_backends or "/nowhere")
    if not (backends / "identity").is_dir():
        print("### Schedulers: skipped, it needs --nvidia-backends with NVIDIA's identity backend\n")
        return
    models = {n: c for n, c in MODELS.items() if n != "sequence" or (backends / "sequence").is_dir()}
    path, cache = repository(models), ["--cache-config=local,size=67108864"]
    print("### Schedulers, gRPC, 64 bytes, and NVIDIA's server with its own backends\n")
    for core in (0, None):
        print("Server and client on one core (GOMAXPROCS 1 for ours):\n" if core == 0 else "Not pinned:\n")
        rows = []
        with contextlib.ExitStack() as stack:
            sides = {
                "ours": stack.enter_context(bench.ours(path, core, more=cache)),
                "nvidia": stack.enter_context(bench.nvidias(path, core, more=cache)),
            }
            for name in models:
                m = bench.interleave({
                    side: (lambda s=s: bench.load(s, name, "grpc", 8, core=core, client="triton perf" if name != "sequence" else "perf_analyzer"))
                    for side, s in sides.items()
                })  # fmt: skip
                x, y = m["ours"], m["nvidia"]
                rows.append([name] + [f"{v:.0f}" for v in (x["per_second"], y["per_second"])] + [f"{x['per_second'] / y['per_second']:.2f}"]
                            + [f"{v:.0f}" for v in (x["server_us"], y["server_us"])] + [f"{x['server_us'] / y['server_us']:.2f}"]
                            + [f"{m[s][k]:.0f}" for k in ("p50", "p99") for s in m])  # fmt: skip
        bench.table(["concurrency 8", "ours req/s", "NVIDIA req/s", "ratio", "ours CPU us", "NVIDIA CPU us", "ratio",
                     "ours p50 us", "NVIDIA p50", "ours p99", "NVIDIA p99"], rows)  # fmt: skip
