"""What the checks share: rows of the report, programs and servers, requests, models."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np

KIT = pathlib.Path(os.environ["TRITON_GPU_KIT"])
OUT = pathlib.Path(os.environ["TRITON_GPU_OUT"])
STAND_IN = os.environ.get("TRITON_GPU_STAND_IN") == "1"
DEADLINE = float(os.environ.get("TRITON_GPU_DEADLINE", "inf"))  # of this check, as time.time()
TRITON = KIT / "bin" / "triton"
GROUP = "instance_group [ { kind: %s count: %d } ]\n"
KIND = "KIND_CPU" if STAND_IN else "KIND_GPU"


def row(name, value=None, unit="", bar="", ok=None, note=""):
    """Reports a figure. ok is None where nothing is judged: for lack of a bar, or of a GPU."""
    note = " ".join(str(note).split())
    print("ROW " + json.dumps({"name": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note}), flush=True)


def expect(name, ok, note=""):
    """Reports whether something holds."""
    row(name, ok=bool(ok), note="" if ok else str(note)[:300])


def bar(name, value, unit, text, ok, note=""):
    """Reports a figure with a bar, which only a GPU can meet."""
    row(name, value, unit, text, None if STAND_IN else bool(ok), note)


def skip(name, why):
    row(name, note="skipped: " + str(why)[:200])


def time_left():
    return DEADLINE - time.time()


@contextlib.contextmanager
def guarded(name):
    """Makes an exception a failed row, so that the rest of a check still runs."""
    try:
        yield
    except Exception as e:  # each kind: the programme goes on
        row(name, ok=False, note=f"{type(e).__name__}: {e}"[:300])


def run(*argv, timeout=60, check=True):
    p = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout)
    if check and p.returncode:
        raise RuntimeError(f"{pathlib.Path(str(argv[0])).name} {argv[1]}: exit code {p.returncode}: {(p.stderr or p.stdout).strip()[-400:]}")
    return p


def triton(*argv, **more):
    return run(TRITON, *argv, **more)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """triton serve over a repository; ends with the block that it is opened for."""

    def __init__(self, repository, *flags):
        self.http, self.grpc, self.metrics_port = free_port(), free_port(), free_port()
        self.log = OUT / f"{os.environ['TRITON_GPU_CHECK']}-server.log"
        self.out = open(self.log, "ab")
        self.begin = self.out.tell()
        argv = [TRITON, "serve", "--model-repository", repository, "--http-address", "127.0.0.1", "--grpc-address", "127.0.0.1",
                "--metrics-address", "127.0.0.1", "--http-port", self.http, "--grpc-port", self.grpc, "--metrics-port", self.metrics_port,
                "--allow-client-shm", "true", "--backend-config", f"python,python-executable={sys.executable}", *flags]  # fmt: skip
        self.process = subprocess.Popen([str(a) for a in argv], stdout=self.out, stderr=self.out)
        end = time.time() + min(120, max(time_left(), 1))
        while not self.answers("/v2/health/ready"):
            if self.process.poll() is not None or time.time() > end:
                self.close()
                raise RuntimeError("the server is not ready: " + self.tail())
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def tail(self, n=300):
        return self.log.read_bytes()[self.begin :][-n:].decode(errors="replace")

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.out.close()

    def alive(self):
        return self.process.poll() is None and self.answers("/v2/health/live")

    def answers(self, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=5).status == 200
        except OSError:
            return False

    def call(self, method, path, body=None, headers=None):
        """Returns status, headers and body."""
        c = http.client.HTTPConnection("127.0.0.1", self.http, timeout=60)
        try:
            data = json.dumps(body).encode() if isinstance(body, dict) else body
            c.request(method, path, data, headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def post(self, path, body=None):
        status, _, data = self.call("POST", path, body or {})
        if status != 200:
            raise RuntimeError(f"{path}: {status} {data[:300].decode(errors='replace')}")
        return json.loads(data) if data else {}

    def load(self, model):
        self.post(f"/v2/repository/models/{model}/load")

    def unload(self, model):
        self.post(f"/v2/repository/models/{model}/unload")
        end = time.time() + 30
        while self.answers(f"/v2/models/{model}/ready") and time.time() < end:
            time.sleep(0.01)

    def infer(self, model, inputs):
        """Sends arrays by name over HTTP with binary tensors; returns arrays by name."""
        names, parts = [], []
        for name, a in inputs.items():
            raw = np.ascontiguousarray(a).tobytes()
            parts.append(raw)
            names.append({"name": name, "shape": list(a.shape), "datatype": DATATYPE[a.dtype.name], "parameters": {"binary_data_size": len(raw)}})
        head = json.dumps({"inputs": names, "parameters": {"binary_data_output": True}}).encode()
        status, headers, data = self.call("POST", f"/v2/models/{model}/infer", head + b"".join(parts), {"Inference-Header-Content-Length": str(len(head))})
        if status != 200:
            raise RuntimeError(f"infer {model}: {status} {data[:300].decode(errors='replace')}")
        at = int(headers["Inference-Header-Content-Length"])
        result = {}
        for o in json.loads(data[:at])["outputs"]:
            n = o["parameters"]["binary_data_size"]
            result[o["name"]] = np.frombuffer(data[at : at + n], NUMPY[o["datatype"]]).reshape(o["shape"])
            at += n
        return result

    def metrics(self):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10).read().decode()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")}


NUMPY = {"FP32": np.float32, "FP16": np.float16, "INT32": np.int32, "INT64": np.int64, "UINT8": np.uint8}
DATATYPE = {np.dtype(v).name: k for k, v in NUMPY.items()}


@contextlib.contextmanager
def repository():
    """A folder for models, below the folder of the results."""
    d = pathlib.Path(tempfile.mkdtemp(prefix="models-", dir=OUT))
    try:
        yield d
    finally:
        shutil.rmtree(d, ignore_errors=True)


def add(models, name, config, file=None, content=None):
    """Adds a model with one version; file is linked, content is text of model.py."""
    version = models / name / "1"
    version.mkdir(parents=True, exist_ok=True)
    (models / name / "config.pbtxt").write_text(config)
    if file is not None:
        os.link(file, version / "model.onnx")
    if content is not None:
        (version / "model.py").write_text(content)


def gpu_memory(pid=None):
    """The bytes in use on GPU 0, or those of one process and its children."""
    if STAND_IN:
        return 0
    if pid is None:
        return int(smi("--query-gpu=memory.used")[0][0]) << 20
    family = {str(pid)}
    for _ in range(3):
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rsplit(")", 1)[1].split()
                if fields[1] in family:
                    family.add(stat.parent.name)
    return sum(int(m) << 20 for p, m in smi("--query-compute-apps=pid,used_memory") if p in family and m.isdigit())


def smi(query):
    lines = run("nvidia-smi", query, "--format=csv,noheader,nounits", timeout=20).stdout.splitlines()
    return [[field.strip() for field in line.split(",")] for line in lines if line.strip()]


# Models. The examples are made by the program; the others by the package onnx with seeded weights.

def examples(*names):
    """The folder with models of `triton repo example`, made once."""
    d = OUT / "examples"
    missing = [n for n in names if not (d / n).is_dir()]
    if missing:
        triton("repo", "example", d, *[a for n in missing for a in ("--model", n)], timeout=120)
    return d


def half(source, target):
    """Writes an ONNX model with all of its FP32 numbers as FP16."""
    import onnx
    from onnx import TensorProto, numpy_helper

    m = onnx.load(source)
    g = m.graph
    for t in g.initializer:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16), t.name))
    for n in g.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.TENSOR and a.t.data_type == TensorProto.FLOAT:
                a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float16), a.t.name))
    for v in [*g.input, *g.output, *g.value_info]:
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(m, target)


def encoder(target, layers, width, heads, length, dtype=np.float32, seed=1):
    """Writes a transformer encoder (BERT's layers without the embedding): FP [batch, length, width] in and out."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(seed)
    kind = TensorProto.FLOAT16 if dtype == np.float16 else TensorProto.FLOAT
    nodes, weights = [], []

    def weight(name, *shape, ones=False):
        a = np.ones(shape) if ones else random.standard_normal(shape) / np.sqrt(shape[0]) if len(shape) > 1 else np.zeros(shape)
        weights.append(numpy_helper.from_array(np.asarray(a, dtype), name))
        return name

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def dense(x, name, n, m):
        return node("Add", [node("MatMul", [x, weight(name + ".w", n, m)], name + ".m"), weight(name + ".b", m)], name)

    weights.append(numpy_helper.from_array(np.array([0, length, heads, width // heads], np.int64), "split"))
    weights.append(numpy_helper.from_array(np.array([0, length, width], np.int64), "join"))
    weights.append(numpy_helper.from_array(np.array(np.sqrt(width / heads), dtype), "scale"))
    x = "input"
    for i in range(layers):
        p = f"l{i}."

        def part(name, order):
            return node("Transpose", [node("Reshape", [dense(x, p + name, width, width), "split"], p + name + ".s")], p + name + ".t", perm=order)

        q, k, v = part("q", [0, 2, 1, 3]), part("k", [0, 2, 3, 1]), part("v", [0, 2, 1, 3])
        score = node("Softmax", [node("Div", [node("MatMul", [q, k], p + "qk"), "scale"], p + "scaled")], p + "score", axis=-1)
        seen = node("Transpose", [node("MatMul", [score, v], p + "seen")], p + "seen.t", perm=[0, 2, 1, 3])
        attention = dense(node("Reshape", [seen, "join"], p + "joined"), p + "out", width, width)
        x = node("LayerNormalization", [node("Add", [x, attention], p + "r1"), weight(p + "n1", width, ones=True), weight(p + "n1b", width)], p + "x1", axis=-1)
        wide = node("Relu", [dense(x, p + "up", width, 4 * width)], p + "relu")
        x = node("LayerNormalization", [node("Add", [x, dense(wide, p + "down", 4 * width, width)], p + "r2"), weight(p + "n2", width, ones=True), weight(p + "n2b", width)], p + "x2", axis=-1)
    node("Identity", [x], "output")
    shape = ["batch", length, width]
    graph = helper.make_graph(nodes, "encoder", [helper.make_tensor_value_info("input", kind, shape)], [helper.make_tensor_value_info("output", kind, shape)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), target)


BERT = {"layers": 2, "width": 64, "heads": 2, "length": 16} if STAND_IN else {"layers": 12, "width": 768, "heads": 12, "length": 128}


def file_of(name):
    """The file of a model: resnet50, resnet50_fp16, bert or bert_fp16. Made once, by whoever needs it first."""
    if name == "resnet50":
        return examples("resnet50") / "resnet50" / "1" / "model.onnx"
    path = OUT / "files" / f"{name}.onnx"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        made = path.with_suffix(".part")
        if name == "resnet50_fp16":
            half(file_of("resnet50"), made)
        else:
            encoder(made, **BERT, dtype=np.float16 if name.endswith("fp16") else np.float32)
        made.rename(path)
    return path


def config_of(name, most=64, count=1, kind=KIND, more=""):
    """A configuration of a model of file_of."""
    fp = "TYPE_FP16" if name.endswith("fp16") else "TYPE_FP32"
    dims, output = ("3, 224, 224", "1000") if name.startswith("resnet") else (f"{BERT['length']}, {BERT['width']}",) * 2
    return (f'backend: "onnxruntime"\nmax_batch_size: {most}\n'
            f'input [ {{ name: "input" data_type: {fp} dims: [ {dims} ] }} ]\noutput [ {{ name: "output" data_type: {fp} dims: [ {output} ] }} ]\n'
            + GROUP % (kind, count) + more)  # fmt: skip


def input_of(name, batch, seed=0):
    shape = (3, 224, 224) if name.startswith("resnet") else (BERT["length"], BERT["width"])
    return np.random.default_rng(seed).random((batch, *shape), np.float32).astype(np.float16 if name.endswith("fp16") else np.float32)


def bare(name, batch, threads, seconds=1.0, where="host", graph=0):
    """The same model in ONNX Runtime alone."""
    p = run(KIT / "bin" / "bare", os.environ["TRITON_ONNXRUNTIME_LIBRARY"], file_of(name), "cpu" if STAND_IN else "cuda", batch, threads, seconds, where, graph, timeout=120)
    return json.loads(p.stdout)


def perf(server, model, batch, concurrency, protocol="http", memory="none", more=(), interval=1000):
    """One level of `triton perf`: its result."""
    port = server.grpc if protocol == "grpc" else server.http
    p = triton("perf", "-m", model, "-i", protocol, "-u", f"127.0.0.1:{port}", "-b", batch, "--concurrency-range", concurrency,
               "-p", interval, "-r", 3, "-s", 999, "--warmup-request-count", 2 * concurrency, "--shared-memory", memory,
               "--output-shared-memory-size", 1 << 20, "--fail-on", "errors", "--output", "json", *more, timeout=120)  # fmt: skip
    return json.loads(p.stdout)["levels"][0]
