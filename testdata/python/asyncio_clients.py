"""The clients for asyncio."""

import asyncio

import numpy as np
import tritonclient.grpc.aio as grpcaio
import tritonclient.http.aio as httpaio
from harness import CLIENTS, GRPC, Skip, check, checks, expect_error, grpcclient, repeat_inputs, simple_inputs
from tritonclient.utils import InferenceServerException


def aio(f):
    """Registers the coroutine f once with each asynchronous client."""
    for name, module in (("http.aio", httpaio), ("grpc.aio", grpcaio)):
        sync, address = CLIENTS[name.split(".")[0]]

        async def main(module=module, sync=sync, address=address):
            async with module.InferenceServerClient(address) as client:
                await f(sync, client)

        checks.append((f"{f.__name__} over {name}", lambda main=main: asyncio.run(main())))
    return f


@aio
async def many_at_once(sync, client):
    a, b, inputs = simple_inputs(sync)
    for r in await asyncio.gather(*(client.infer("simple", inputs) for _ in range(32))):
        assert (r.as_numpy("OUTPUT0") == a + b).all()


@aio
async def health_and_metadata(sync, client):
    assert await client.is_server_live() and await client.is_server_ready()
    assert await client.is_model_ready("simple")
    m = await client.get_server_metadata()
    assert (m["name"] if isinstance(m, dict) else m.name) == "triton"
    await client.get_model_config("simple")
    await client.get_model_repository_index()
    await client.get_inference_statistics("simple")


@aio
async def errors(sync, client):
    _, _, inputs = simple_inputs(sync)
    try:
        await client.infer("simple", inputs[:1])
    except InferenceServerException as e:
        assert "expected 2 inputs but got 1 inputs for model 'simple'" in e.message(), e
    else:
        raise AssertionError("no error was reported")


@aio
async def large(sync, client):
    array = np.arange(500_000, dtype=np.float32).reshape(1, -1)
    t = sync.InferInput("INPUT0", list(array.shape), "FP32")
    t.set_data_from_numpy(array)
    assert ((await client.infer("identity_fp32", [t])).as_numpy("OUTPUT0") == array).all()


@check
def compressed_over_http_aio():
    async def main():
        sync, address = CLIENTS["http"]
        async with httpaio.InferenceServerClient(address) as client:
            a, b, inputs = simple_inputs(sync)
            for algorithm in ("gzip", "deflate"):
                try:
                    r = await client.infer("simple", inputs, request_compression_algorithm=algorithm, response_compression_algorithm=algorithm)
                except NameError as e:
                    raise Skip("this client forgot to import its compression") from e
                assert (r.as_numpy("OUTPUT0") == a + b).all(), algorithm

    asyncio.run(main())


async def stream_of(client, requests):
    async def send():
        for values in requests:
            yield {"model_name": "repeat_int32", "inputs": repeat_inputs(values), "request_id": str(len(values))}

    answers = client.stream_infer(send())
    if asyncio.iscoroutine(answers):
        answers = await answers
    return [(result, error) async for result, error in answers]


@check
def stream_over_grpc_aio():
    async def main():
        async with grpcaio.InferenceServerClient(GRPC) as client:
            got = await stream_of(client, [[4, 5, 6], [7]])
            assert all(error is None for _, error in got), got
            by_id = {"3": [], "1": []}
            for result, _ in got:
                by_id[result.get_response().id].append(int(result.as_numpy("OUT")[0]))
            assert by_id == {"3": [4, 5, 6], "1": [7]}, by_id

    asyncio.run(main())


@check
def stream_given_up_over_grpc_aio():
    async def main():
        async with grpcaio.InferenceServerClient(GRPC) as client:

            async def send():
                yield {"model_name": "repeat_int32", "inputs": repeat_inputs(list(range(50)), delay_ms=100)}

            answers = client.stream_infer(send())
            if asyncio.iscoroutine(answers):
                answers = await answers
            if not hasattr(answers, "cancel"):
                raise Skip("this client cannot cancel streams")
            first, error = await answers.__anext__()
            assert error is None and first.as_numpy("OUT")[0] == 0
            answers.cancel()
            assert await client.is_server_live()

    asyncio.run(main())


@check
def deadline_over_grpc_aio():
    async def main():
        from harness import grpc, slow_input, slow_model

        with grpc() as sync, slow_model(sync):
            async with grpcaio.InferenceServerClient(GRPC) as client:
                errors = []
                for _ in range(3):  # on a busy machine a reset stream may overtake the status
                    try:
                        await client.infer("custom_identity_int32", slow_input(grpcclient), client_timeout=0.3)
                    except InferenceServerException as e:
                        errors.append(str(e))
                assert len(errors) == 3 and "[StatusCode.DEADLINE_EXCEEDED] Deadline Exceeded" in errors, errors

    asyncio.run(main())


@check
def connection_refused():
    client = grpcclient.InferenceServerClient("127.0.0.1:1")
    expect_error(client.is_server_live, status=["StatusCode.UNAVAILABLE"])
