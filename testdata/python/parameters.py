"""Parameters of requests: sequences, priority, timeout, custom ones, headers."""

from harness import both, check, expect_error, grpc, grpcclient, http, httpclient, needs, simple_inputs


@both
def sequence_parameters(module, client):
    a, b, inputs = simple_inputs(module)
    for id in (42, 2**62, "a sequence"):
        for start, end in ((True, False), (False, False), (False, True)):
            r = client.infer("simple", inputs, sequence_id=id, sequence_start=start, sequence_end=end)
            assert (r.as_numpy("OUTPUT0") == a + b).all(), id


@both
def priority_and_timeout(module, client):
    a, b, inputs = simple_inputs(module)
    r = client.infer("simple", inputs, priority=1, timeout=10_000_000)
    assert (r.as_numpy("OUTPUT0") == a + b).all()


@both
def custom_parameters(module, client):
    a, b, inputs = simple_inputs(module)
    with needs("custom parameters"):
        r = client.infer("simple", inputs, parameters={"text": "x", "number": 7, "flag": True})
    assert (r.as_numpy("OUTPUT0") == a + b).all()
    with needs("custom parameters"):
        expect_error(lambda: client.infer("simple", inputs, parameters={"priority": 1}), "reserved parameter")


@both
def headers(module, client):
    a, b, inputs = simple_inputs(module)
    r = client.infer("simple", inputs, headers={"x-caller": "interop", "traceparent": "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"})
    assert (r.as_numpy("OUTPUT0") == a + b).all()
    assert client.is_server_live(headers={"x-caller": "interop"})


@both
def request_ids(module, client):
    _, _, inputs = simple_inputs(module)
    for id in ("", "7", "with blanks and \"quotes\"", "żółw"):
        r = client.infer("simple", inputs, request_id=id).get_response()
        assert (r.get("id", "") if module is httpclient else r.id) == id, r


@check
def query_parameters():
    with http() as client:
        a, b, inputs = simple_inputs(httpclient)
        r = client.infer("simple", inputs, query_params={"test_1": 1, "test_2": 2})
        assert (r.as_numpy("OUTPUT0") == a + b).all()
        assert client.is_server_live(query_params={"x": "y"})


@check
def an_unknown_parameter_of_an_output():
    with grpc() as client:
        a, b, inputs = simple_inputs(grpcclient)
        inputs[0]._input.parameters["made_up"].string_param = "x"
        r = client.infer("simple", inputs)
        assert (r.as_numpy("OUTPUT0") == a + b).all()
