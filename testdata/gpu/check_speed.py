"""The server beside the session alone: the same library, the same model, one run."""

from lib import STAND_IN, Server, add, bar, bare, config_of, file_of, guarded, perf, repository, row, time_left

MODELS = ["bert"] if STAND_IN else ["resnet50", "bert_fp16"]
SECONDS = 0.3 if STAND_IN else 1.0

# Batch, concurrency, kinds of memory. The session alone runs as many threads as instances.
LEVELS = [(1, 1, ("none", "system", "cuda")), (8, 4, ("none", "system", "cuda")), (32, 4, ("none", "cuda")), (64, 4, ("none", "cuda"))]
INSTANCES = 2

for model in MODELS:
    with guarded(model), repository() as models:
        add(models, model, config_of(model, 64, INSTANCES), file_of(model))
        batching = config_of(model, 64, INSTANCES, more="dynamic_batching { max_queue_delay_microseconds: 500 }\n")
        add(models, model + "_batched", batching, file_of(model))
        with Server(models, "--disable-auto-complete-config") as s:
            for batch, concurrency, memories in LEVELS:
                if time_left() < 12:
                    row(f"{model}: batch {batch} and more", note="skipped: no time left")
                    break
                threads = min(concurrency, INSTANCES)
                alone = bare(model, batch, threads, SECONDS)
                row(f"{model}: batch {batch}, session alone, {threads} threads", alone["items_per_second"], "items/s", note=f"p50 {alone['p50_us']:.0f} us")
                for protocol in ("http", "grpc"):
                    for memory in memories if protocol == "grpc" else memories[:1]:
                        with guarded(f"{model}: batch {batch}, {protocol}, {memory}"):
                            level = perf(s, model, batch, concurrency, protocol, memory, interval=int(SECONDS * 1000))
                            ratio = level["throughput_per_s"] / alone["items_per_second"]
                            name = f"{model}: batch {batch}, {protocol}, memory {memory}, ratio to the session"
                            bar(name, ratio, "", "0.97 at least" if batch >= 8 else "", ratio >= 0.97 if batch >= 8 else True, f"{level['throughput_per_s']:.0f} items/s")
                            if batch == 1:
                                p50 = next(p["latency_us"] for p in level["latency"]["percentiles"] if p["percentile"] == 50)
                                bar(f"{model}: batch 1, {protocol}, memory {memory}, p50 above the session's", p50 - alone["p50_us"], "us", "150 at most", p50 - alone["p50_us"] <= 150)
            with guarded("dynamic batching"):
                plain, batched = (perf(s, m, 1, 64, "grpc", interval=int(SECONDS * 1000))["throughput_per_s"] for m in (model, model + "_batched"))
                row(f"{model}: dynamic batching at concurrency 64, gain", batched / plain, "times", note=f"{batched:.0f} for {plain:.0f} items/s")
            copied = {k: v for k, v in s.metrics().items() if k.startswith("triton_tensor_bytes_copied_total")}
            row(f"{model}: bytes copied by the server", sum(copied.values()) / 1e6, "MB", note=str(copied))
        if not STAND_IN:
            for batch in (1, 8):
                for where, graph in (("device", 0), ("device", 1)):
                    with guarded(f"{model}: session alone, {where}, graph {graph}"):
                        r = bare(model, batch, 1, 0.5, where, graph)
                        row(f"{model}: batch {batch}, session alone, bound on the GPU{', CUDA graph' if graph else ''}", r["items_per_second"], "items/s", note=f"p50 {r['p50_us']:.0f} us")
