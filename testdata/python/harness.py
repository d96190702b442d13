"""What all checks of interop.py share: the addresses, the list of checks, small tensors."""

import contextlib
import json
import os
import sys
import time

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException

HTTP, GRPC, MODELS = sys.argv[1:4]
CLIENTS = {"http": (httpclient, HTTP), "grpc": (grpcclient, GRPC)}

checks = []


class Skip(Exception):
    """This release of the client cannot run the check; the text is the reason."""


def check(f):
    checks.append((f.__name__, f))
    return f


def both(f):
    """Registers f once with the HTTP client and once with the gRPC client."""
    for name, (module, address) in CLIENTS.items():

        def run(module=module, address=address):
            with module.InferenceServerClient(address) as client:
                f(module, client)

        checks.append((f"{f.__name__} over {name}", run))
    return f


def http():
    return httpclient.InferenceServerClient(HTTP)


def grpc():
    return grpcclient.InferenceServerClient(GRPC)


@contextlib.contextmanager
def needs(what):
    """Skips a check where the client knows no such argument or method."""
    try:
        yield
    except (TypeError, AttributeError) as e:
        if "unexpected keyword argument" in str(e) or "has no attribute" in str(e):
            raise Skip(f"this client has no {what}") from e
        raise


def tensor(module, name, array, datatype, **kwargs):
    t = module.InferInput(name, list(array.shape), datatype)
    t.set_data_from_numpy(array, **kwargs)
    return t


def simple_inputs(module, rows=1, **kwargs):
    a = np.arange(16 * rows, dtype=np.int32).reshape(rows, 16)
    b = np.full((rows, 16), 3, dtype=np.int32)
    return a, b, [tensor(module, "INPUT0", a, "INT32", **kwargs), tensor(module, "INPUT1", b, "INT32", **kwargs)]


def repeat_inputs(values, delay_ms=0, wait_ms=0):
    """Inputs of repeat_int32 for the gRPC client: one response for each value."""
    return [
        tensor(grpcclient, "IN", np.array(values, dtype=np.int32), "INT32"),
        tensor(grpcclient, "DELAY", np.full(len(values), delay_ms, dtype=np.uint32), "UINT32"),
        tensor(grpcclient, "WAIT", np.array([wait_ms], dtype=np.uint32), "UINT32"),
    ]


def slow_input(module, rows=1):
    return [tensor(module, "INPUT0", np.full((rows, 4), 5, dtype=np.int32), "INT32")]


def state_of(client, model):
    index = client.get_model_repository_index()
    if isinstance(client, httpclient.InferenceServerClient):
        return next((m.get("state"), m.get("reason")) for m in index if m["name"] == model)
    return next((m.state, m.reason) for m in index.models if m.name == model)


def unload(client, model):
    """Unloads a model and waits until no request of it runs any more."""
    client.unload_model(model)
    for _ in range(2000):  # unloading continues after the response
        if state_of(client, model) == ("UNAVAILABLE", "unloaded"):
            return
        time.sleep(0.01)
    raise AssertionError(f"{model} is {state_of(client, model)}: does a request still run?")


@contextlib.contextmanager
def slow_model(client):
    """Loads custom_identity_int32 so that every batch takes ten minutes, and afterwards without delay.

    Clients have to cancel their requests: a request that the server does not cancel delays the unload.
    """
    parameters = {"execute_delay_ms": {"string_value": "600000"}}
    io = {"data_type": "TYPE_INT32", "dims": [-1]}
    config = {
        "backend": "identity",
        "max_batch_size": 8,
        "input": [{"name": "INPUT0", **io}],
        "output": [{"name": "OUTPUT0", **io}],
        "parameters": parameters,
    }
    client.load_model("custom_identity_int32", config=json.dumps(config))
    try:
        yield
    finally:
        unload(client, "custom_identity_int32")
        client.load_model("custom_identity_int32")


def model_file(name, version="1"):
    with open(os.path.join(MODELS, name, version, "model.onnx"), "rb") as f:
        return f.read()


def expect_error(call, *parts, status=None):
    """Expects the client's error with the parts in its text and, over each protocol, the status."""
    try:
        call()
    except InferenceServerException as e:
        for part in parts:
            assert part in e.message(), f"{part!r} not in {e.message()!r}"
        if status is not None:
            assert e.status() in status, (e.status(), status)
        return e
    raise AssertionError("no error was reported")


NOT_FOUND = ("404", "StatusCode.NOT_FOUND")
INVALID = ("400", "StatusCode.INVALID_ARGUMENT")
