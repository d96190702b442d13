"""Clients that leave: deadlines, cancelled calls, closed connections."""

import http.client
import json
import queue

from harness import HTTP, Skip, check, expect_error, grpc, grpcclient, httpclient, needs, repeat_inputs, simple_inputs, slow_input, slow_model
from harness import http as http_client
from streaming import Stream

SLOW = "custom_identity_int32"


@check
def deadline_over_grpc():
    with grpc() as client, slow_model(client):
        errors = []
        for _ in range(3):  # on a busy machine a reset stream may overtake the status
            errors.append(str(expect_error(lambda: client.infer(SLOW, slow_input(grpcclient), client_timeout=0.3))))
        assert "[StatusCode.DEADLINE_EXCEEDED] Deadline Exceeded" in errors, errors


@check
def deadline_of_other_calls():
    with grpc() as client:
        with needs("client_timeout of other calls"):
            assert client.is_server_live(client_timeout=10)
            assert client.get_server_metadata(client_timeout=10).name == "triton"


@check
def timeout_over_http():
    with http_client() as control, slow_model(control), httpclient.InferenceServerClient(HTTP, network_timeout=0.2, connection_timeout=5) as client:
        try:
            client.infer(SLOW, slow_input(httpclient))
        except Exception as e:
            assert "timed out" in str(e) or "timeout" in type(e).__name__.lower(), e
        else:
            raise AssertionError("no timeout")
        assert control.is_server_live()


@check
def cancelled_call():
    done = queue.Queue()
    with grpc() as client:
        if not hasattr(client.async_infer("simple", simple_inputs(grpcclient)[2], callback=lambda result, error: None), "cancel"):
            raise Skip("this client cannot cancel calls")
        with slow_model(client):
            call = client.async_infer(SLOW, slow_input(grpcclient), callback=lambda result, error: done.put((result, error)))
            call.cancel()
            result, error = done.get(timeout=30)
            assert result is None and "cancel" in error.message().lower(), error


@check
def others_are_served_after_cancelled_calls():
    with grpc() as client:
        a, b, inputs = simple_inputs(grpcclient)
        for _ in range(30):
            call = client.async_infer("simple", inputs, callback=lambda result, error: None)
            if not hasattr(call, "cancel"):
                raise Skip("this client cannot cancel calls")
            call.cancel()
        assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == a + b).all()


@check
def cancelled_stream():
    with grpc() as client:
        s = Stream(client)
        s.send("repeat_int32", repeat_inputs(list(range(100)), delay_ms=100))
        assert s.result().as_numpy("OUT")[0] == 0
        with needs("cancel_requests"):
            client.stop_stream(cancel_requests=True)
        assert client.is_server_live()


@check
def closed_connection():
    """An HTTP client that hangs up while its request runs."""
    with http_client() as client, slow_model(client):
        body = json.dumps({"inputs": [{"name": "INPUT0", "datatype": "INT32", "shape": [1, 2], "data": [1, 2]}]})
        for _ in range(8):
            c = http.client.HTTPConnection(HTTP, timeout=5)
            c.request("POST", f"/v2/models/{SLOW}/infer", body)
            c.close()
    with http_client() as client:
        assert (client.infer(SLOW, slow_input(httpclient)).as_numpy("OUTPUT0") == 5).all()
