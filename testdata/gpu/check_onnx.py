"""ONNX Runtime with CUDA."""

import numpy as np
from lib import STAND_IN, Server, add, config_of, examples, expect, file_of, gpu_memory, guarded, input_of, repository, row

BOUNDS = {"FP32": 2e-3, "FP16": 3e-2}  # of the largest number; TF32 has 10 bits of mantissa, as FP16


def distance(a, b):
    a, b = a.astype(np.float32), b.astype(np.float32)
    return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-6)) if np.isfinite(a).all() and np.isfinite(b).all() else float("inf")


with guarded("answers beside the CPU's"), repository() as models:
    names = ["resnet50", "resnet50_fp16", "bert", "bert_fp16"]
    for n in names:
        with guarded(n):
            add(models, n, config_of(n, 8), file_of(n))
            add(models, n + "_cpu", config_of(n, 8, kind="KIND_CPU"), file_of(n))
    with Server(models, "--model-control-mode", "explicit", "--disable-auto-complete-config") as s:
        for n in names:
            with guarded(n):
                before = gpu_memory()
                s.load(n)
                if not STAND_IN:
                    expect(f"{n}: is on the GPU", gpu_memory() > before + (16 << 20), gpu_memory() - before)
                s.load(n + "_cpu")
                for batch in (1, 3, 8):
                    x = {"input": input_of(n, batch, seed=batch)}
                    d = distance(s.infer(n, x)["output"], s.infer(n + "_cpu", x)["output"])
                    bound = BOUNDS["FP16" if n.endswith("fp16") else "FP32"]
                    row(f"{n}: batch {batch}, distance from the CPU", d, "", f"at most {bound}", d <= bound)
                s.unload(n)
                s.unload(n + "_cpu")

with guarded("example models"):
    # Without instance groups the server chooses: the GPU, if there is one and the provider.
    with Server(examples("simple", "resnet50", "simple_string", "identity_fp16"), "--model-control-mode", "explicit") as s:
        for n in ("simple", "resnet50", "simple_string", "identity_fp16"):
            with guarded(n):
                s.load(n)
                config = s.call("GET", f"/v2/models/{n}/config")[2].decode()
                kinds = [k for k in ("KIND_GPU", "KIND_CPU") if k in config]
                row(f"{n}: completed to", " ".join(kinds), ok=None if STAND_IN else "KIND_GPU" in kinds)

with guarded("options"), repository() as models:
    options = {
        "two instances": (config_of("resnet50", 8, 2), None),
        "gpus": (config_of("resnet50", 8).replace("count: 1", "count: 1" if STAND_IN else "count: 1 gpus: [ 0 ]"), None),
        "gpu_mem_limit": (config_of("resnet50", 8, more='parameters { key: "gpu_mem_limit" value { string_value: "4294967296" } }\n'), None),
        "arena_extend_strategy": (config_of("resnet50", 8, more='parameters { key: "arena_extend_strategy" value { string_value: "1" } }\n'), None),
        "cuda accelerator": (config_of("resnet50", 8, more='optimization { execution_accelerators { gpu_execution_accelerator { name: "cuda" parameters { key: "use_tf32" value: "0" } } } }\n'), None),
        "graph optimization": (config_of("resnet50", 8, more="optimization { graph { level: 1 } }\n"), None),
        "wrong ordinal": (config_of("resnet50", 8, kind="KIND_GPU").replace("count: 1", "count: 1 gpus: [ 17 ]"), "17"),
        "unknown option": (config_of("resnet50", 8, kind="KIND_GPU", more='optimization { execution_accelerators { gpu_execution_accelerator { name: "cuda" parameters { key: "no_such_option" value: "1" } } } }\n'), "no_such_option|CUDA"),
    }  # fmt: skip
    for i, (_, (config, _)) in enumerate(options.items()):
        add(models, f"m{i}", config, file_of("resnet50"))
    with Server(models, "--model-control-mode", "explicit", "--disable-auto-complete-config") as s:
        reference = None
        for i, (name, (_, error)) in enumerate(options.items()):
            try:
                s.load(f"m{i}")
                y = s.infer(f"m{i}", {"input": input_of("resnet50", 2)})["output"]
                reference = y if reference is None else reference
                expect(name, error is None and distance(y, reference) < 1e-2, "it was not refused" if error else distance(y, reference))
                s.unload(f"m{i}")
            except RuntimeError as e:
                expect(name + (" is refused" if error else ""), error and any(word in str(e) for word in error.split("|")), e)
        expect("the server lives", s.alive(), s.tail())
