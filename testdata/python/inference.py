"""Inference with the example models: outputs, versions, batches, compression, classes."""

import numpy as np
from harness import both, check, grpcclient, http, httpclient, simple_inputs, tensor


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


@check
def json_and_binary_mixed():
    with http() as client:
        a, b, _ = simple_inputs(httpclient)
        inputs = [tensor(httpclient, "INPUT0", a, "INT32", binary_data=False), tensor(httpclient, "INPUT1", b, "INT32")]
        outputs = [httpclient.InferRequestedOutput("OUTPUT0", binary_data=False), httpclient.InferRequestedOutput("OUTPUT1")]
        r = client.infer("simple", inputs, outputs=outputs)
        assert (r.as_numpy("OUTPUT0") == a + b).all()
        assert (r.as_numpy("OUTPUT1") == a - b).all()


@check
def json_only():
    with http() as client:
        a, b, inputs = simple_inputs(httpclient, 2, binary_data=False)
        outputs = [httpclient.InferRequestedOutput(n, binary_data=False) for n in ("OUTPUT0", "OUTPUT1")]
        r = client.infer("simple", inputs, outputs=outputs)
        assert (r.as_numpy("OUTPUT0") == a + b).all() and (r.as_numpy("OUTPUT1") == a - b).all()
        assert r.get_output("OUTPUT0")["data"] == (a + b).flatten().tolist()


@check
def body_made_and_read_without_a_client():
    import urllib.request

    from harness import HTTP

    a, b, inputs = simple_inputs(httpclient)
    body, header = httpclient.InferenceServerClient.generate_request_body(inputs)
    request = urllib.request.Request(f"http://{HTTP}/v2/models/simple/infer", body, {"Inference-Header-Content-Length": str(header)})
    with urllib.request.urlopen(request) as response:
        size = response.headers.get("Inference-Header-Content-Length")
        r = httpclient.InferenceServerClient.parse_response_body(response.read(), header_length=int(size) if size else None)
    assert (r.as_numpy("OUTPUT0") == a + b).all()


@check
def compressed_http():
    with http() as client:
        a, b, inputs = simple_inputs(httpclient)
        for sent in ("gzip", "deflate", None):
            for wanted in ("gzip", "deflate", None):
                r = client.infer("simple", inputs, request_compression_algorithm=sent, response_compression_algorithm=wanted)
                assert (r.as_numpy("OUTPUT0") == a + b).all(), (sent, wanted)


@check
def compressed_grpc():
    from harness import grpc

    with grpc() as client:
        a, b, inputs = simple_inputs(grpcclient)
        for algorithm in ("gzip", "deflate"):
            r = client.infer("simple", inputs, compression_algorithm=algorithm)
            assert (r.as_numpy("OUTPUT0") == a + b).all(), algorithm


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
def classes(module, client):
    a, b, inputs = simple_inputs(module, 2)
    r = client.infer("simple", inputs, outputs=[module.InferRequestedOutput("OUTPUT0", class_count=3)])
    got = [[x.decode() for x in row] for row in r.as_numpy("OUTPUT0")]
    want = [[f"{row[i]}.000000:{i}" for i in (15, 14, 13)] for row in a + b]
    assert [[f"{float(x.split(':')[0]):f}:{x.split(':')[1]}" for x in row] for row in got] == want, got


@both
def classes_of_an_image(module, client):
    image = np.random.default_rng(5).standard_normal((1, 3, 224, 224), dtype=np.float32)
    inputs = [tensor(module, "input", image, "FP32")]
    scores = client.infer("resnet50", inputs).as_numpy("output")[0]
    r = client.infer("resnet50", inputs, outputs=[module.InferRequestedOutput("output", class_count=5)])
    got = [int(x.decode().split(":")[1]) for x in r.as_numpy("output")[0]]
    assert got == list(np.argsort(-scores, kind="stable")[:5]), got
