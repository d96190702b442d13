"""Loading and unloading of models."""

import base64
import json

from harness import both, check, expect_error, grpc, grpcclient, http, httpclient, model_file, simple_inputs, state_of, unload


def config_of(client, name):
    c = client.get_model_config(name) if isinstance(client, httpclient.InferenceServerClient) else client.get_model_config(name, as_json=True)["config"]
    return c


@both
def unload_and_load(module, client):
    a, b, inputs = simple_inputs(module)
    client.unload_model("simple")
    assert not client.is_model_ready("simple")
    expect_error(lambda: client.infer("simple", inputs), "Request for unknown model: 'simple' has no available versions")
    client.load_model("simple")
    assert client.is_model_ready("simple")
    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == a + b).all()


@both
def index_of_an_unloaded_model(module, client):
    unload(client, "square_int32")
    assert state_of(client, "square_int32") == ("UNAVAILABLE", "unloaded")
    client.load_model("square_int32")
    assert state_of(client, "square_int32")[0] == "READY"


@both
def load_with_another_config(module, client):
    io = {"data_type": "TYPE_INT32", "dims": [16]}
    config = {
        "backend": "onnxruntime",
        "max_batch_size": 2,
        "input": [{"name": "INPUT0", **io}, {"name": "INPUT1", **io}],
        "output": [{"name": "OUTPUT0", **io}, {"name": "OUTPUT1", **io}],
    }
    client.load_model("simple", config=json.dumps(config))
    try:
        assert int(config_of(client, "simple")["max_batch_size"]) == 2
        _, _, three = simple_inputs(module, 3)
        expect_error(lambda: client.infer("simple", three), "inference request batch-size must be <= 2 for 'simple'")
    finally:
        client.unload_model("simple")  # else the model would stay: its files are the same
        client.load_model("simple")
    assert int(config_of(client, "simple")["max_batch_size"]) == 8


@both
def load_with_files(module, client):
    a, b, inputs = simple_inputs(module)
    client.load_model("uploaded", config=json.dumps({"backend": "onnxruntime"}), files={"file:3/model.onnx": model_file("simple")})
    assert client.is_model_ready("uploaded", "3")
    r = client.infer("uploaded", inputs, model_version="3")
    assert (r.as_numpy("OUTPUT1") == a - b).all()
    client.unload_model("uploaded")
    assert not client.is_model_ready("uploaded")


@both
def files_need_a_config(module, client):
    expect_error(lambda: client.load_model("uploaded", files={"file:1/model.onnx": model_file("simple")}), "failed to load 'uploaded', failed to poll from model repository")


@both
def wrong_loads(module, client):
    expect_error(lambda: client.load_model("no_such"), "failed to load 'no_such'")
    expect_error(lambda: client.load_model("simple", config="{"), "failed to load 'simple', failed to poll from model repository")
    wrong = json.dumps({"backend": "no_such_backend"})
    expect_error(lambda: client.load_model("simple", config=wrong), "load failed for model 'simple'", "unable to find backend library for backend 'no_such_backend'")
    a, b, inputs = simple_inputs(module)
    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == a + b).all(), "the version that was there is served on"


@check
def requests_while_a_model_is_loaded_again():
    import threading

    failures, ended = [], threading.Event()

    def infer():
        with grpc() as client:
            a, b, inputs = simple_inputs(grpcclient)
            while not ended.is_set():
                try:
                    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == a + b).all()
                except Exception as e:
                    failures.append(e)

    threads = [threading.Thread(target=infer) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        with http() as client:
            for _ in range(10):
                client.load_model("simple")
    finally:
        ended.set()
        for t in threads:
            t.join()
    assert not failures, failures[:3]


@check
def unload_of_dependents():
    with http() as client:
        client.unload_model("square_int32", unload_dependents=True)
        assert not client.is_model_ready("square_int32")
        client.load_model("square_int32")


@check
def load_by_hand():
    """The form of the request itself, without the client."""
    import urllib.request

    from harness import HTTP

    body = {"parameters": {"config": json.dumps({"backend": "onnxruntime"}), "file:1/model.onnx": base64.b64encode(model_file("simple")).decode()}}
    for path, data in (("uploaded/load", body), ("uploaded/unload", {"parameters": {"unload_dependents": False}})):
        request = urllib.request.Request(f"http://{HTTP}/v2/repository/models/{path}", json.dumps(data).encode())
        with urllib.request.urlopen(request) as response:
            assert response.status == 200 and response.read() == b""
