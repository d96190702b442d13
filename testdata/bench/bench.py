"""Measures our server and load generator and NVIDIA's, in one run, alternating.

    bench.py --triton bin/triton --oracle .oracle --models models [FIGURE ...]

FIGURES (default all but guard): resnet simple batching start perf generator wire schedulers python many_models guard. NVIDIA's
perf_analyzer drives both servers; `triton perf` and wireload are used only where a figure's heading
names them.
Every figure is a median over --repeats interleaved repeats; CPU time is that of the kernel's scheduler
(/proc/PID/task/*/schedstat), so it is right on a busy machine too. The result is Markdown.

With --nvidia-models DIR and --nvidia-backends DIR, NVIDIA's server is given an ONNX Runtime
backend of yours and serves `simple` from DIR; without, it serves a Python identity model.
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import clients
import generator as generators
import guard as guards
import manymodels
import python_backend
import schedulers as schedules
import wire as wires

args = None


reserved = []  # sockets; never closed, so that the kernel gives their ports to nobody else


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lets in the server that names the port
    reserved.extend(sockets)
    return [s.getsockname()[1] for s in sockets]


def descendants(pid):
    pids = [pid]
    for p in pids:
        for task in pathlib.Path(f"/proc/{p}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                pids += [int(c) for c in task.read_text().split()]
    return pids


def cpu_seconds(pid):
    total = 0
    for p in descendants(pid):
        for f in pathlib.Path(f"/proc/{p}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(f.read_text().split()[0])
    return total / 1e9


def rss_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


class Server:
    """A server process, ours or NVIDIA's, on free ports."""

    def __init__(self, argv, models, core=None, env=None):
        self.http, self.grpc, self.metrics = (f"127.0.0.1:{p}" for p in free_ports(3))
        argv = list(argv) + [f"--model-repository={models}"]
        for kind, address in (("http", self.http), ("grpc", self.grpc), ("metrics", self.metrics)):
            argv += [f"--{kind}-address=127.0.0.1", f"--{kind}-port={address.split(':')[1]}"]
        argv += ["--allow-gpu-metrics=false"]
        if core is not None:
            argv = ["taskset", "-c", str(core)] + argv
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.started = time.monotonic()
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log, env={**os.environ, **(env or {})})

    def __enter__(self):
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(f"http://{self.http}/v2/health/ready", timeout=2).status == 200:
                    self.ready_seconds = time.monotonic() - self.started
                    return self
            time.sleep(0.002)
        self.give_up("did not become ready")

    def give_up(self, what):
        self.log.seek(0)
        sys.exit(f"server {what}: {self.process.args}\n{self.log.read()[-3000:]}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def address(self, protocol):
        return self.http if protocol == "http" else self.grpc

    def statistics(self, model):
        url = f"http://{self.http}/v2/models/{model}/stats"
        return json.load(urllib.request.urlopen(url))["model_stats"][-1]

    def requests(self, model):
        return self.statistics(model)["inference_stats"]["success"]["count"]

    def cpu(self):
        return cpu_seconds(self.process.pid)


def ours(models, core=None, more=(), **kw):
    return Server([args.triton, "serve", *more], models, core, **kw)


def nvidias(models, core=None, more=()):
    argv = [args.oracle + "/bin/tritonserver"]
    if args.nvidia_backends:
        argv.append(f"--backend-directory={args.nvidia_backends}")
    return Server([*argv, *more], models, core)


def load(*how, **more):
    """Runs a load generator and returns its figures and the CPU time. Now and then perf_analyzer
    does not end; then it is stopped and started again."""
    for _ in range(3):
        result = try_load(*how, **more)
        if result:
            return result
    sys.exit(f"the load generator did not end, three times: {how} {more}")


def try_load(server, model, protocol, concurrency, batch=1, core=None, client="perf_analyzer", shape=(), count=0):
    # Short windows: perf_analyzer's evaluation grows with the square of a window's requests,
    # and on a full core it falls behind for good. Slow models are given a number of requests
    # instead, because a window cuts the first and the last.
    argv = [args.oracle + "/bin/perf_analyzer"] if client == "perf_analyzer" else [args.triton, "perf"]
    out = tempfile.mktemp(suffix=".csv")
    argv += ["-m", model, "-u", server.address(protocol), "-i", protocol, "-b", str(batch)]
    argv += [f"--concurrency-range={concurrency}", "-f", out]
    argv += [f"--request-count={count}"] if count else ["-p", "600", "-s", "999", "-r", "3"]
    argv += ["--async"] if protocol == "grpc" else []
    for s in shape:
        argv += ["--shape", s]
    if core is not None:
        argv = ["taskset", "-c", str(core)] + argv
    if server.process.poll() is not None:
        server.give_up(f"ended by itself, {server.process.returncode}")
    n, cpu = server.requests(model), server.cpu()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watchdog = threading.Timer(180 if count else 45, process.kill)
    watchdog.start()
    text = process.stdout.read()
    watchdog.cancel()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status == signal.SIGKILL:
        return None
    n, cpu = server.requests(model) - n, server.cpu() - cpu
    if status or not os.path.exists(out):
        sys.exit(f"{argv} failed:\n{text}")
    with open(out) as f:
        row = next(csv.DictReader(f))
    os.unlink(out)
    return {
        "per_second": float(row["Inferences/Second"]),
        "p50": float(row["p50 latency"]),
        "p99": float(row["p99 latency"]),
        "server_us": cpu / n * 1e6,
        "client_us": (usage.ru_utime + usage.ru_stime) / n * 1e6,
    }


def interleave(sides):
    """Runs each side in turn, args.repeats times, and returns medians by side and key.

    Every other round goes backwards: once, the side measured later came out up to a tenth lower at
    low load.
    """
    runs = {name: [] for name in sides}
    order = list(sides)
    for _ in range(args.repeats):
        for name in order:
            runs[name].append(sides[name]())
        order.reverse()
    return {name: {k: statistics.median(r[k] for r in rs) for k in rs[0]} for name, rs in runs.items()}


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for r in rows:
        print("| " + " | ".join(str(c) for c in r) + " |")
    print(flush=True)


def only(models, name, edit=None):
    """A repository with one model of another, its configuration edited."""
    repository = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    source = pathlib.Path(models).absolute() / name
    (repository / name).mkdir()
    for entry in source.iterdir():
        if entry.name == "config.pbtxt":
            text = entry.read_text()
            (repository / name / "config.pbtxt").write_text(edit(text) if edit else text)
        else:
            (repository / name / entry.name).symlink_to(entry)
    return str(repository)


ONE_THREAD = """
instance_group [{ count: 1 kind: KIND_CPU }]
parameters { key: "intra_op_thread_count" value: { string_value: "1" } }
"""


def one_thread(text):
    return re.sub(r"instance_group\s*\[[^\]]*\]", "", text) + ONE_THREAD


def resnet():
    print("### ResNet-50: the whole server against ONNX Runtime alone\n")
    print("gRPC, concurrency 2, one instance, one thread; the bare loop runs the same session options.\n")
    bare = subprocess.run(["go", "test", "-c", "-o", "build/onnx.test", "./server/backend/onnx"], check=False)
    if bare.returncode:
        sys.exit("cannot build the bare loop")
    repository = only(args.models, "resnet50", one_thread)
    rows = []
    with ours(repository) as server:
        for batch in (1, 8):

            def bare_loop():
                # The pattern's parts are anchored one by one.
                bench = f"-test.bench=^BenchmarkResNet50$/^threads=1$/^rows={batch}$/^bare$"
                argv = [os.path.abspath("build/onnx.test"), "-test.run=^$", bench, "-test.benchtime=4s", f"-models={os.path.abspath(args.models)}"]
                text = subprocess.run(argv, cwd="server/backend/onnx", capture_output=True, text=True).stdout
                found = re.search(r"\s([\d.]+) ns/op", text)
                if not found:
                    sys.exit(f"the bare loop printed no figure:\n{text}")
                return {"per_second": batch * 1e9 / float(found[1])}

            def through_server():
                # triton perf, because perf_analyzer rounds the time of a number of requests up to whole seconds.
                return load(server, "resnet50", "grpc", 2, batch, count=160 // batch, client="triton perf")

            m = interleave({"bare": bare_loop, "server": through_server})
            b, s = m["bare"]["per_second"], m["server"]["per_second"]
            rows.append([batch, f"{b:.2f}", f"{s:.2f}", f"{s / b:.3f}"])
    table(["batch", "bare images/s", "server images/s", "ratio"], rows)


IDENTITY = '''import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([
                pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy()),
                pb_utils.Tensor("OUTPUT1", pb_utils.get_input_tensor_by_name(r, "INPUT1").as_numpy()),
            ])
            for r in requests
        ]
'''


def nvidia_simple():
    if args.nvidia_models:
        return args.nvidia_models
    repository = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
    (repository / "simple" / "1").mkdir(parents=True)
    text = (pathlib.Path(args.models) / "simple" / "config.pbtxt").read_text()
    text = re.sub(r'(platform|backend):\s*"[^"]*"', 'backend: "python"', text)
    (repository / "simple" / "config.pbtxt").write_text(text)
    (repository / "simple" / "1" / "model.py").write_text(IDENTITY)
    return str(repository)


def simple():
    theirs_is = "ONNX Runtime backend" if args.nvidia_models else "Python identity model"
    print(f"### `simple`: requests/s and server CPU per request (NVIDIA: {theirs_is})\n")
    mine, theirs = only(args.models, "simple", one_thread), nvidia_simple()
    for pinned in (True, False):
        core = 0 if pinned else None
        print("Server and client on one core (GOMAXPROCS 1 for ours):\n" if pinned else "Not pinned:\n")
        rows = []
        with ours(mine, core) as a, nvidias(theirs, core) as b:
            for protocol in ("http", "grpc"):
                for concurrency in (1, 8, 64):
                    m = interleave({
                        "ours": lambda: load(a, "simple", protocol, concurrency, core=core),
                        "nvidia": lambda: load(b, "simple", protocol, concurrency, core=core),
                    })
                    x, y = m["ours"], m["nvidia"]
                    rows.append([
                        protocol, concurrency,
                        f"{x['per_second']:.0f}", f"{y['per_second']:.0f}", f"{x['per_second'] / y['per_second']:.2f}",
                        f"{x['server_us']:.0f}", f"{y['server_us']:.0f}", f"{x['server_us'] / y['server_us']:.2f}",
                        f"{x['p50']:.0f}", f"{y['p50']:.0f}", f"{x['p99']:.0f}", f"{y['p99']:.0f}", f"{x['client_us']:.0f}",
                    ])  # fmt: skip
        table(["", "conc.", "ours req/s", "NVIDIA req/s", "ratio", "ours CPU us", "NVIDIA CPU us", "ratio",
               "ours p50 us", "NVIDIA p50", "ours p99", "NVIDIA p99", "client CPU us"], rows)  # fmt: skip


def batching():
    print("### Dynamic batching: `text_classifier`, concurrency 32, sequence length 32\n")

    def without(text):
        return re.sub(r"dynamic_batching\s*\{.*?\n\}", "", text, flags=re.S)

    shape = ["input_ids:32", "attention_mask:32"]
    with ours(only(args.models, "text_classifier")) as a, ours(only(args.models, "text_classifier", without)) as b:
        m = interleave({
            "with": lambda: load(a, "text_classifier", "grpc", 32, shape=shape),
            "without": lambda: load(b, "text_classifier", "grpc", 32, shape=shape),
        })
        x, y = m["with"], m["without"]
        table(["", "inferences/s", "p50 us", "p99 us"], [
            ["with", f"{x['per_second']:.0f}", f"{x['p50']:.0f}", f"{x['p99']:.0f}"],
            ["without", f"{y['per_second']:.0f}", f"{y['p50']:.0f}", f"{y['p99']:.0f}"],
            ["ratio", f"{x['per_second'] / y['per_second']:.2f}", "", ""],
        ])  # fmt: skip
        batches = a.statistics("text_classifier")["batch_stats"]
        total = sum(s["compute_infer"]["count"] for s in batches)
        table(["batch size", "executions", "share"], [
            [s["batch_size"], s["compute_infer"]["count"], f"{s['compute_infer']['count'] / total:.1%}"] for s in batches
        ])  # fmt: skip


def start():
    print("### Start to ready with `simple` alone, memory, size\n")
    library = next(pathlib.Path("lib").glob("libonnxruntime.so*"))
    load_library = "import ctypes,sys,time;t=time.perf_counter();ctypes.CDLL(sys.argv[1]);print(time.perf_counter()-t)"
    repository = only(args.models, "simple", one_thread)
    rows = []
    for _ in range(max(args.repeats, 5)):
        with ours(repository) as s:
            time.sleep(0.2)
            loaded = float(subprocess.check_output([sys.executable, "-c", load_library, str(library)]))
            rows.append((s.ready_seconds, loaded, rss_bytes(s.process.pid)))
    ready, loaded, rss = (statistics.median(r[i] for r in rows) for i in range(3))
    size = os.path.getsize(args.triton)
    table(["start to ready", "of it loading ONNX Runtime's library", "resident memory", "binary"],
          [[f"{ready * 1e3:.0f} ms", f"{loaded * 1e3:.0f} ms", f"{rss / 2**20:.0f} MiB", f"{size / 2**20:.0f} MiB"]])  # fmt: skip


def perf():
    clients.perf(sys.modules[__name__])


def guard():
    guards.guard(sys.modules[__name__])


def generator():
    generators.generator(sys.modules[__name__])


def wire():
    wires.wire(sys.modules[__name__])


def schedulers():
    schedules.schedulers(sys.modules[__name__])


def python():
    python_backend.python(sys.modules[__name__])


def many_models():
    manymodels.many_models(sys.modules[__name__])


FIGURES = {f.__name__: f for f in (resnet, simple, batching, start, perf, generator, wire, schedulers, python, many_models, guard)}


def main():
    global args
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("figures", nargs="*", help="which figures")
    p.add_argument("--triton", required=True)
    p.add_argument("--oracle", required=True)
    p.add_argument("--models", required=True)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--nvidia-models")
    p.add_argument("--nvidia-backends")
    p.add_argument("--seconds", type=float, default=2, help="of one run of the figures generator, wire and python")
    p.add_argument("--sizes", type=int, nargs="*", help="figure wire: tensors of these sizes only, in bytes")
    p.add_argument("--kinds", nargs="*", help="figure wire: requests of these kinds only, such as json, binary, grpc")
    p.add_argument("--base", help="figure wire: another build of ours to measure in turn; figure guard: revisions, with commas between")
    p.add_argument("--quick", action="store_true", help="figure python: a few cases")
    p.add_argument("--cases", default="", help="figure python: cases whose model/protocol/bytes/concurrency match this expression; "
                   "figure perf: model/protocol/load")  # fmt: skip
    p.add_argument("--most", type=int, default=10**6, help="figure many_models: no more models than this, to try it")
    p.add_argument("--pinning", choices=["on", "off"], help="figure python: only with, or only without")
    args = p.parse_args()
    unknown = [f for f in args.figures if f not in FIGURES]
    if unknown:
        p.error(f"no figure {unknown[0]}; there are {', '.join(FIGURES)}")
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} x {cpu}, medians of {args.repeats} interleaved repeats\n")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        tempfile.tempdir = scratch
        for name in args.figures or [f for f in FIGURES if f != "guard"]:
            FIGURES[name]()


if __name__ == "__main__":
    main()
