"""Memory on the GPU: what models take, what an analysis says, out of memory, all of it given back."""

import json
import time

from lib import OUT, STAND_IN, Server, add, bar, config_of, expect, file_of, gpu_memory, guarded, input_of, repository, row, smi, time_left, triton

MODELS = ["bert"] if STAND_IN else ["resnet50", "bert"]
held = {}  # by the server with one instance of a model that has run, in bytes

with guarded("loads and unloads"), repository() as models:
    for m in MODELS:
        add(models, m, config_of(m, 8), file_of(m))
    with Server(models, "--model-control-mode", "explicit", "--disable-auto-complete-config") as s:
        pid = s.process.pid
        for m in MODELS:
            s.load(m)
            s.infer(m, {"input": input_of(m, 1)})
            held[m] = gpu_memory(pid)
            s.unload(m)
        first = gpu_memory(pid)  # the context and the libraries' own stay
        cycles, end = 0, time.time() + (3 if STAND_IN else 25)
        while cycles < 50 and time.time() < end:
            for m in MODELS:
                s.load(m)
                s.infer(m, {"input": input_of(m, 8)})
                s.unload(m)
            cycles += 1
        last = gpu_memory(pid)
        for m in MODELS:
            row(f"{m}: in use by the server when loaded", held[m] >> 20, "MiB")
        row("in use by the server after the first unload", first >> 20, "MiB")
        bar(f"growth over {cycles} cycles", (last - first) / max(first, 1) * 100, "%", "2 at most", last - first <= first * 0.02)
        expect("50 cycles", STAND_IN or cycles == 50, f"{cycles}, the rest had no time")

with guarded("out of memory"), repository() as models:
    # A limit of the arena is the same to the provider as a full card.
    tight = 'parameters { key: "gpu_mem_limit" value { string_value: "%d" } }\n'
    add(models, "ok", config_of("bert", 64), file_of("bert"))
    add(models, "noload", config_of("bert", 64, more=tight % (8 << 20)), file_of("bert"))
    add(models, "norun", config_of("bert", 64, more=tight % (420 << 20)), file_of("bert"))
    with Server(models, "--model-control-mode", "explicit", "--disable-auto-complete-config") as s:
        s.load("ok")
        if STAND_IN:
            row("a load and a request that need too much", note="only on a GPU")
        else:
            for name, call in {
                "a load that needs too much": lambda: s.load("noload"),
                "a request that needs too much": lambda: (s.load("norun"), [s.infer("norun", {"input": input_of("bert", 64)}) for _ in range(3)]),
            }.items():
                try:
                    call()
                    expect(name + " fails", False, "it did not")
                except RuntimeError as e:
                    expect(name + " says that memory is missing", "memory" in str(e).lower() or "alloc" in str(e).lower(), e)
        expect("the other model answers", s.infer("ok", {"input": input_of("bert", 2)})["output"].size > 0)
        expect("the server lives", s.alive(), s.tail())

for m in MODELS:
    if time_left() < 25:
        row(f"{m}: triton analyze memory", note="skipped: no time left")
        continue
    with guarded(f"{m}: triton analyze memory"), repository() as models:
        add(models, m, config_of(m, 8), file_of(m))
        p = triton("analyze", "memory", "-m", m, "--model-repository", models, "--instance-counts", "1,2", "--stress-time", "500ms", "--output", "json",
                   timeout=max(time_left() - 2, 10))  # fmt: skip
        (OUT / f"analyze-{m}.json").write_text(p.stdout)
        found = json.loads(p.stdout)["models"][0]
        one = next(a for a in found["anchors"] if a["k"] == 1)
        place = "host" if STAND_IN else smi("--query-gpu=uuid")[0][0]
        analyzed = found["baseline"].get(place, 0) + one["retained"].get(place, 0)
        bar(f"{m}: triton analyze memory, one instance", analyzed >> 20, "MiB", f"NVML's {held.get(m, 0) >> 20}, 2 % off at most", abs(analyzed - held.get(m, 0)) <= 0.02 * held.get(m, 1))
