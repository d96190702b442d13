"""Drives a running server with NVIDIA's Python client: interop.py HTTP-ADDRESS GRPC-ADDRESS.

The server serves the repository that `triton repo example` writes. Every test prints
one line; the exit code is the number of failures.
"""

import asyncio
import queue
import sys
import threading
import traceback

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as grpcaio
import tritonclient.http as httpclient
import tritonclient.http.aio as httpaio
from tritonclient.utils import InferenceServerException

HTTP, GRPC = sys.argv[1:3]

tests = []


def test(f):
    tests.append(f)
    return f


def both(f):
    """Registers f once with the HTTP client and once with the gRPC client."""
    for name, module, address in (("http", httpclient, HTTP), ("grpc", grpcclient, GRPC)):

        def run(module=module, address=address):
            with module.InferenceServerClient(address) as client:
                f(module, client)

        run.__name__ = f"{f.__name__} over {name}"
        tests.append(run)
    return f


def tensor(module, name, array, datatype, **kwargs):
    t = module.InferInput(name, list(array.shape), datatype)
    t.set_data_from_numpy(array, **kwargs)
    return t


def simple_inputs(module, rows=1, **kwargs):
    a = np.arange(16 * rows, dtype=np.int32).reshape(rows, 16)
    b = np.full((rows, 16), 3, dtype=np.int32)
    return a, b, [tensor(module, "INPUT0", a, "INT32", **kwargs), tensor(module, "INPUT1", b, "INT32", **kwargs)]


def expect_error(call, *parts, status=None):
    try:
        call()
    except InferenceServerException as e:
        for part in parts:
            assert part in e.message(), f"{part!r} not in {e.message()!r}"
        if status is not None:
            assert e.status() == status, (e.status(), status)
        return
    raise AssertionError("no error was reported")


@both
def health(module, client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("simple")
    assert client.is_model_ready("simple", "1")
    assert not client.is_model_ready("simple", "77")
    assert not client.is_model_ready("no_such_model")


@test
def metadata_is_the_same_over_both():
    with httpclient.InferenceServerClient(HTTP) as h, grpcclient.InferenceServerClient(GRPC) as g:
        a, b = h.get_server_metadata(), g.get_server_metadata(as_json=True)
        assert a == b, (a, b)
        assert a["name"] == "triton", a
        a, b = h.get_model_metadata("simple"), g.get_model_metadata("simple", as_json=True)
        assert a["platform"] == b["platform"] == "onnxruntime_onnx"
        for side in ("inputs", "outputs"):
            for x, y in zip(a[side], b[side], strict=True):
                assert x["name"] == y["name"] and x["datatype"] == y["datatype"]
                assert [str(d) for d in x["shape"]] == y["shape"]
        versions = h.get_model_metadata("text_classifier")["versions"]
        assert versions == ["1", "2"], versions


@both
def config(module, client):
    c = client.get_model_config("text_classifier")
    if module is grpcclient:
        c = c.config
        assert c.max_batch_size == 32
        assert list(c.dynamic_batching.preferred_batch_size) == [8, 16, 32]
        assert c.dynamic_batching.max_queue_delay_microseconds == 100000
        assert c.instance_group[0].count == 2
    else:
        assert c["max_batch_size"] == 32
        assert c["dynamic_batching"]["preferred_batch_size"] == [8, 16, 32]
        assert c["dynamic_batching"]["max_queue_delay_microseconds"] == 100000
        assert c["instance_group"][0]["count"] == 2


@both
def index_lists_every_model(module, client):
    index = client.get_model_repository_index()
    names = {m["name"] for m in index} if module is httpclient else {m.name for m in index.models}
    assert {"simple", "simple_string", "resnet50", "text_classifier"} <= names, names


@both
def simple(module, client):
    for rows in (1, 3, 8):
        a, b, inputs = simple_inputs(module, rows)
        r = client.infer("simple", inputs, request_id="id-7")
        assert (r.as_numpy("OUTPUT0") == a + b).all()
        assert (r.as_numpy("OUTPUT1") == a - b).all()
        got = r.get_response()
        assert (got["id"] if module is httpclient else got.id) == "id-7"


@both
def one_output_asked_for(module, client):
    a, b, inputs = simple_inputs(module)
    r = client.infer("simple", inputs, outputs=[module.InferRequestedOutput("OUTPUT1")])
    assert r.as_numpy("OUTPUT0") is None
    assert (r.as_numpy("OUTPUT1") == a - b).all()


@test
def json_and_binary_mixed():
    with httpclient.InferenceServerClient(HTTP) as client:
        a, b, _ = simple_inputs(httpclient)
        inputs = [tensor(httpclient, "INPUT0", a, "INT32", binary_data=False), tensor(httpclient, "INPUT1", b, "INT32")]
        outputs = [httpclient.InferRequestedOutput("OUTPUT0", binary_data=False), httpclient.InferRequestedOutput("OUTPUT1")]
        r = client.infer("simple", inputs, outputs=outputs)
        assert (r.as_numpy("OUTPUT0") == a + b).all()
        assert (r.as_numpy("OUTPUT1") == a - b).all()


@test
def compressed_both_ways():
    with httpclient.InferenceServerClient(HTTP) as client:
        for algorithm in ("gzip", "deflate"):
            a, b, inputs = simple_inputs(httpclient)
            r = client.infer(
                "simple", inputs, request_compression_algorithm=algorithm, response_compression_algorithm=algorithm
            )
            assert (r.as_numpy("OUTPUT0") == a + b).all(), algorithm
    with grpcclient.InferenceServerClient(GRPC) as client:
        for algorithm in ("gzip", "deflate"):
            a, b, inputs = simple_inputs(grpcclient)
            r = client.infer("simple", inputs, compression_algorithm=algorithm)
            assert (r.as_numpy("OUTPUT0") == a + b).all(), algorithm


NUMBERS = {
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "bool": np.bool_,
}  # fmt: skip


def identity(module, client, kind, array, datatype, **kwargs):
    model = "identity_" + kind
    meta = client.get_model_metadata(model)
    meta = meta if module is httpclient else {"inputs": [{"name": i.name} for i in meta.inputs], "outputs": [{"name": o.name} for o in meta.outputs]}
    r = client.infer(model, [tensor(module, meta["inputs"][0]["name"], array, datatype, **kwargs)])
    return r.as_numpy(meta["outputs"][0]["name"])


@both
def every_number_type_comes_back(module, client):
    rng = np.random.default_rng(7)
    for kind, dtype in NUMBERS.items():
        raw = rng.integers(0, 2 if kind == "bool" else 255, size=(2, 24), dtype=np.uint8)
        array = raw.astype(dtype)
        got = identity(module, client, kind, array, kind.upper())
        assert got.dtype == array.dtype and (got == array).all(), kind


@both
def limits_of_integers_come_back(module, client):
    for kind, dtype in NUMBERS.items():
        if "int" not in kind:
            continue
        info = np.iinfo(dtype)
        array = np.array([[info.min, info.max, 0]], dtype=dtype)
        assert (identity(module, client, kind, array, kind.upper()) == array).all(), kind
        if module is httpclient:
            assert (identity(module, client, kind, array, kind.upper(), binary_data=False) == array).all(), kind + " as JSON"


@both
def bf16_comes_back(module, client):
    array = np.array([[1.0, -2.5, 0.0, 65536.0]], dtype=np.float32)
    got = identity(module, client, "bf16", array, "BF16")
    assert (got == array).all(), got


@both
def strings_come_back_whole(module, client):
    array = np.array([["", "a\0b", "żółw", "x" * 5000]], dtype=np.object_)
    got = identity(module, client, "string", array, "BYTES")
    assert [x.decode() for x in got.flatten()] == list(array.flatten()), got
    binary = np.array([[b"\xff\xfe\x00", b"\x80"]], dtype=np.object_)
    got = identity(module, client, "string", binary, "BYTES")
    assert list(got.flatten()) == list(binary.flatten()), got


@both
def simple_string(module, client):
    a = np.array([str(i) for i in range(16)], dtype=np.object_).reshape(1, 16)
    b = np.array(["1"] * 16, dtype=np.object_).reshape(1, 16)
    r = client.infer("simple_string", [tensor(module, "INPUT0", a, "BYTES"), tensor(module, "INPUT1", b, "BYTES")])
    assert [int(x) for x in r.as_numpy("OUTPUT0").flatten()] == [i + 1 for i in range(16)]
    assert [int(x) for x in r.as_numpy("OUTPUT1").flatten()] == [i - 1 for i in range(16)]


@both
def large_tensors(module, client):
    array = np.arange(2_000_000, dtype=np.float32).reshape(2, -1)
    assert (identity(module, client, "fp32", array, "FP32") == array).all()


@both
def batches_equal_single_requests(module, client):
    rng = np.random.default_rng(3)
    ids = rng.integers(1, 90, size=(4, 12), dtype=np.int64)
    mask = np.ones_like(ids)

    def logits(rows):
        inputs = [tensor(module, "input_ids", ids[rows], "INT64"), tensor(module, "attention_mask", mask[rows], "INT64")]
        return client.infer("text_classifier", inputs).as_numpy("logits")

    whole = logits(slice(0, 4))
    assert whole.shape == (4, 2) and np.isfinite(whole).all()
    for i in range(4):
        np.testing.assert_allclose(logits(slice(i, i + 1))[0], whole[i], rtol=1e-3, atol=1e-4)


@both
def two_versions_differ(module, client):
    ids = np.arange(1, 9, dtype=np.int64).reshape(1, 8)
    inputs = [tensor(module, "input_ids", ids, "INT64"), tensor(module, "attention_mask", np.ones_like(ids), "INT64")]
    one, two, newest = (client.infer("text_classifier", inputs, model_version=v).as_numpy("logits") for v in ("1", "2", ""))
    assert not np.allclose(one, two)
    assert (newest == two).all()


@both
def resnet50(module, client):
    image = np.random.default_rng(1).standard_normal((2, 3, 224, 224), dtype=np.float32)
    r = client.infer("resnet50", [tensor(module, "input", image, "FP32")])
    out = r.as_numpy("output")
    assert out.shape == (2, 1000) and np.isfinite(out).all()


@both
def wrong_requests_are_refused(module, client):
    a, b, inputs = simple_inputs(module)
    http = module is httpclient
    expect_error(lambda: client.infer("no_such", inputs), "Request for unknown model: 'no_such' is not found")
    expect_error(lambda: client.infer("simple", inputs, model_version="9"), "Request for unknown model: 'simple' version 9 is not found")
    expect_error(lambda: client.infer("simple", inputs[:1]), "expected 2 inputs but got 1 inputs for model 'simple'")
    wrong = [inputs[0], tensor(module, "INPUT9", b, "INT32")]
    expect_error(lambda: client.infer("simple", wrong), "unexpected inference input 'INPUT9' for model 'simple'")
    wrong = [inputs[0], tensor(module, "INPUT1", b.astype(np.float32), "FP32")]
    expect_error(
        lambda: client.infer("simple", wrong),
        "inference input 'INPUT1' data-type is 'FP32', but model 'simple' expects 'INT32'",
        status="400" if http else "StatusCode.INVALID_ARGUMENT",
    )
    wrong = [inputs[0], tensor(module, "INPUT1", b[:, :8], "INT32")]
    expect_error(lambda: client.infer("simple", wrong), "unexpected shape for input 'INPUT1' for model 'simple'. Expected [-1,16], got [1,8].")
    _, _, nine = simple_inputs(module, 9)
    expect_error(lambda: client.infer("simple", nine), "inference request batch-size must be <= 8 for 'simple'")
    expect_error(
        lambda: client.infer("simple", inputs, outputs=[module.InferRequestedOutput("NOPE")]),
        "unexpected inference output 'NOPE' for model 'simple'",
    )


@both
def statistics_count(module, client):
    def stats():
        s = client.get_inference_statistics("simple", "1")
        if module is httpclient:
            s = s["model_stats"][0]
            return int(s["inference_count"]), int(s["execution_count"]), int(s["inference_stats"]["success"]["count"])
        s = s.model_stats[0]
        return s.inference_count, s.execution_count, s.inference_stats.success.count

    before = stats()
    _, _, inputs = simple_inputs(module, 4)
    for _ in range(3):
        client.infer("simple", inputs)
    after = stats()
    assert after[0] - before[0] == 12, (before, after)
    assert after[1] - before[1] == 3, (before, after)
    assert after[2] - before[2] == 3, (before, after)


@test
def http_async():
    with httpclient.InferenceServerClient(HTTP, concurrency=8) as client:
        a, b, inputs = simple_inputs(httpclient)
        waiting = [client.async_infer("simple", inputs) for _ in range(64)]
        for w in waiting:
            assert (w.get_result().as_numpy("OUTPUT0") == a + b).all()


@test
def grpc_async():
    done = queue.Queue()
    with grpcclient.InferenceServerClient(GRPC) as client:
        a, b, inputs = simple_inputs(grpcclient)
        for _ in range(64):
            client.async_infer("simple", inputs, callback=lambda result, error: done.put((result, error)))
        for _ in range(64):
            result, error = done.get(timeout=30)
            assert error is None, error
            assert (result.as_numpy("OUTPUT1") == a - b).all()


@test
def asyncio_clients():
    async def run(module, address):
        async with module.InferenceServerClient(address) as client:
            sync = httpclient if module is httpaio else grpcclient
            a, b, inputs = simple_inputs(sync)
            results = await asyncio.gather(*(client.infer("simple", inputs) for _ in range(32)))
            for r in results:
                assert (r.as_numpy("OUTPUT0") == a + b).all()

    asyncio.run(run(httpaio, HTTP))
    asyncio.run(run(grpcaio, GRPC))


@test
def many_threads_get_their_own_answers():
    failures = []

    def worker(n):
        try:
            module, address = ((httpclient, HTTP), (grpcclient, GRPC))[n % 2]
            with module.InferenceServerClient(address) as client:
                for i in range(30):
                    rows = 1 + (n + i) % 4
                    ids = np.full((rows, 16), n * 100 + i, dtype=np.int32)
                    inputs = [tensor(module, "INPUT0", ids, "INT32"), tensor(module, "INPUT1", ids, "INT32")]
                    r = client.infer("simple", inputs)
                    assert (r.as_numpy("OUTPUT0") == 2 * ids).all()
        except Exception as e:  # collected for the main thread
            failures.append(e)

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures


def main():
    failed = 0
    for t in tests:
        try:
            t()
            print(f"ok    {t.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL  {t.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
