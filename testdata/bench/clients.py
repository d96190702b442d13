"""The figure "perf": `triton perf` and perf_analyzer against the same server, in turn.

`delay` takes 5 ms for each request, on 16 instances, so that neither client is the limit and both must
report the same. `simple` takes no time, so that the client is the limit and its own cost shows."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

DELAY = """backend: "identity"
max_batch_size: 0
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] }
parameters { key: "execute_delay_ms" value { string_value: "5" } }
instance_group { kind: KIND_CPU count: 16 }
"""

SEQUENCE = """backend: "sequence"
max_batch_size: 8
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
parameters { key: "execute_delay_ms" value { string_value: "5" } }
instance_group { kind: KIND_CPU count: 1 }
sequence_batching {
  max_sequence_idle_microseconds: 10000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
"""

REPEAT = """backend: "repeat"
max_batch_size: 0
model_transaction_policy { decoupled: true }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }, { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
instance_group { kind: KIND_CPU count: 1 }
"""

FOUR = {"data": [{"IN": {"content": [1, 2, 3, 4], "shape": [4]}, "DELAY": {"content": [0, 1, 1, 1], "shape": [4]}, "WAIT": [0]}]}

LEVELS = (1, 2, 4, 8, 64)
CLIENTS = ("triton perf", "perf_analyzer")


def repository(bench):
    root = pathlib.Path(bench.only(bench.args.models, "simple", bench.one_thread))
    for name, config in (("delay", DELAY), ("sequence", SEQUENCE), ("repeat", REPEAT)):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
    return str(root)


def cases(data):
    """(what, model, protocol, options); data is a file of input data for the model `repeat`."""
    for protocol in ("http", "grpc"):
        for n in LEVELS:
            yield f"concurrency {n}", "delay", protocol, [f"--concurrency-range={n}"]
        for law in ("constant", "poisson"):
            yield f"500/s {law}", "delay", protocol, ["--request-rate-range=500", f"--request-distribution={law}"]
        yield "8 sequences", "sequence", protocol, ["--concurrency-range=8", "--sequence-length=10"]
        yield "shared memory, 8", "delay", protocol, ["--concurrency-range=8", "--shared-memory=system"]
    yield "stream, 8", "delay", "grpc", ["--concurrency-range=8", "--streaming"]
    yield "stream of 4 responses, 8", "repeat", "grpc", ["--concurrency-range=8", "--streaming", f"--input-data={data}"]
    for protocol in ("http", "grpc"):
        for n in LEVELS:
            yield f"concurrency {n}", "simple", protocol, [f"--concurrency-range={n}"]


def run(bench, server, client, model, protocol, options):
    """One run. Now and then perf_analyzer does not end; then it is started again."""
    program = [bench.args.oracle + "/bin/perf_analyzer"] if client == "perf_analyzer" else [bench.args.triton, "perf"]
    out = tempfile.mktemp(suffix=".csv")
    interval = "600" if model == "simple" else "1500"
    argv = [*program, "-m", model, "-u", server.address(protocol), "-i", protocol, "-f", out, *options]
    argv += ["-p", interval, "-s", "999", "-r", "3"]
    for _ in range(3):
        before = server.requests(model)
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        text = process.stdout.read()
        watchdog.cancel()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status != signal.SIGKILL:
            break
    if status or not os.path.exists(out):
        sys.exit(f"{argv} failed:\n{text}")
    with open(out) as f:
        row = next(csv.DictReader(f))
    os.unlink(out)
    n = server.requests(model) - before
    return {
        "per_second": float(row["Inferences/Second"]),
        **{p: float(row[f"{p} latency"]) for p in ("p50", "p90", "p99")},
        "client_us": (usage.ru_utime + usage.ru_stime) / n * 1e6,
    }


def perf(bench):
    print("### `triton perf` and perf_analyzer, against the same server\n")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as data, bench.ours(repository(bench), more=["--allow-client-shm=true"]) as server:
        json.dump(FOUR, data)
        data.flush()
        rows = []
        for what, model, protocol, options in cases(data.name):
            if not re.match(bench.args.cases, f"{model}/{protocol}/{what}"):
                continue
            m = bench.interleave({c: (lambda c=c: run(bench, server, c, model, protocol, options)) for c in CLIENTS})
            x, y = m["triton perf"], m["perf_analyzer"]
            row = [model, protocol, what]
            for key in ("per_second", "p50", "p90", "p99", "client_us"):
                row += [f"{x[key]:.0f}", f"{y[key]:.0f}", f"{x[key] / y[key]:.2f}"]
            rows.append(row)
            print("\t".join(map(str, row)), file=sys.stderr, flush=True)
    names = ("req/s", "p50 us", "p90 us", "p99 us", "client CPU us")
    bench.table(["Model", "Protocol", "Load", *(h for n in names for h in (f"ours {n}", "NVIDIA", "ratio"))], rows)
