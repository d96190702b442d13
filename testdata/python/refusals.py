"""Wrong requests: the status and the text that Triton gives."""

import numpy as np
from harness import INVALID, NOT_FOUND, both, check, expect_error, grpc, grpcclient, http, httpclient, repeat_inputs, simple_inputs, tensor


@both
def unknown_models(module, client):
    _, _, inputs = simple_inputs(module)
    expect_error(lambda: client.infer("no_such", inputs), "Request for unknown model: 'no_such' is not found", status=NOT_FOUND + INVALID)
    expect_error(lambda: client.infer("simple", inputs, model_version="9"), "Request for unknown model: 'simple' version 9 is not found")


@both
def missing_and_unknown_inputs(module, client):
    _, b, inputs = simple_inputs(module)
    expect_error(lambda: client.infer("simple", inputs[:1]), "expected 2 inputs but got 1 inputs for model 'simple'", status=INVALID)
    wrong = [inputs[0], tensor(module, "INPUT9", b, "INT32")]
    expect_error(lambda: client.infer("simple", wrong), "unexpected inference input 'INPUT9' for model 'simple'", status=INVALID)


@both
def wrong_type(module, client):
    _, b, inputs = simple_inputs(module)
    wrong = [inputs[0], tensor(module, "INPUT1", b.astype(np.float32), "FP32")]
    text = "inference input 'INPUT1' data-type is 'FP32', but model 'simple' expects 'INT32'"
    expect_error(lambda: client.infer("simple", wrong), text, status=INVALID)


@both
def wrong_shape(module, client):
    _, b, inputs = simple_inputs(module)
    wrong = [inputs[0], tensor(module, "INPUT1", b[:, :8], "INT32")]
    text = "unexpected shape for input 'INPUT1' for model 'simple'. Expected [-1,16], got [1,8]."
    expect_error(lambda: client.infer("simple", wrong), text, status=INVALID)


@both
def batch_too_large(module, client):
    _, _, nine = simple_inputs(module, 9)
    expect_error(lambda: client.infer("simple", nine), "inference request batch-size must be <= 8 for 'simple'", status=INVALID)


@both
def unknown_output(module, client):
    _, _, inputs = simple_inputs(module)
    nope = [module.InferRequestedOutput("NOPE")]
    expect_error(lambda: client.infer("simple", inputs, outputs=nope), "unexpected inference output 'NOPE' for model 'simple'", status=INVALID)


@both
def a_good_request_after_wrong_ones(module, client):
    a, b, inputs = simple_inputs(module)
    for _ in range(20):
        expect_error(lambda: client.infer("simple", inputs[:1]), "expected 2 inputs")
    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == a + b).all()


@check
def decoupled_models_need_a_stream():
    with grpc() as client:
        text = "ModelInfer RPC doesn't support models with decoupled transaction policy"
        expect_error(lambda: client.infer("repeat_int32", repeat_inputs([1])), text, status=["StatusCode.UNIMPLEMENTED"])
    with http() as client:
        inputs = [
            tensor(httpclient, "IN", np.array([1], dtype=np.int32), "INT32"),
            tensor(httpclient, "DELAY", np.zeros(1, dtype=np.uint32), "UINT32"),
            tensor(httpclient, "WAIT", np.zeros(1, dtype=np.uint32), "UINT32"),
        ]
        expect_error(lambda: client.infer("repeat_int32", inputs), "HTTP end point doesn't support models with decoupled transaction policy")


@check
def raw_bytes_of_the_wrong_size():
    with grpc() as client:
        _, _, inputs = simple_inputs(grpcclient)
        inputs[1]._raw_content = inputs[1]._raw_content[:-4]
        expect_error(lambda: client.infer("simple", inputs), "input byte size mismatch for input 'INPUT1' for model 'simple'. Expected 64, got 60", status=INVALID)
