"""Health, metadata, configuration, repository index, statistics."""

from harness import NOT_FOUND, both, check, expect_error, grpc, grpcclient, http, httpclient, simple_inputs


@both
def health(module, client):
    assert client.is_server_live()
    assert client.is_server_ready()


@both
def model_readiness(module, client):
    assert client.is_model_ready("simple")
    assert client.is_model_ready("simple", "1")
    assert not client.is_model_ready("simple", "77")
    assert not client.is_model_ready("no_such_model")


@check
def server_metadata_is_the_same_over_both():
    with http() as h, grpc() as g:
        a, b = h.get_server_metadata(), g.get_server_metadata(as_json=True)
        assert a == b, (a, b)
        assert a["name"] == "triton", a
        assert {"classification", "binary_tensor_data", "system_shared_memory", "statistics"} <= set(a["extensions"]), a


@check
def model_metadata_is_the_same_over_both():
    with http() as h, grpc() as g:
        for model in ("simple", "simple_string", "resnet50", "text_classifier", "repeat_int32"):
            a, b = h.get_model_metadata(model), g.get_model_metadata(model, as_json=True)
            assert a["name"] == b["name"] and a["versions"] == b["versions"] and a["platform"] == b.get("platform", ""), (a, b)
            for side in ("inputs", "outputs"):
                for x, y in zip(a[side], b[side], strict=True):
                    assert x["name"] == y["name"] and x["datatype"] == y["datatype"]
                    assert [str(d) for d in x["shape"]] == y["shape"]


@both
def versions(module, client):
    m = client.get_model_metadata("text_classifier")
    assert list(m["versions"] if module is httpclient else m.versions) == ["1", "2"], m


@both
def metadata_of_an_unknown_model(module, client):
    expect_error(lambda: client.get_model_metadata("no_such"), "Request for unknown model: 'no_such' is not found", status=NOT_FOUND + ("400",))
    expect_error(lambda: client.get_model_config("no_such"), "Request for unknown model: 'no_such' is not found", status=NOT_FOUND + ("400",))
    if module is grpcclient:
        expect_error(lambda: client.get_model_metadata("simple", "x"), "failed to get model version from specified version string 'x'")


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
def decoupled_models_say_so(module, client):
    c = client.get_model_config("repeat_int32")
    assert (c.config.model_transaction_policy.decoupled if module is grpcclient else c["model_transaction_policy"]["decoupled"]) is True


@both
def index_lists_every_model(module, client):
    index = client.get_model_repository_index()
    states = {m["name"]: m["state"] for m in index} if module is httpclient else {m.name: m.state for m in index.models}
    assert {"simple", "simple_string", "resnet50", "text_classifier", "repeat_int32"} <= set(states), states
    assert states["simple"] == "READY", states


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
    assert [b - a for a, b in zip(before, after)] == [12, 3, 3], (before, after)


@both
def statistics_of_all_models(module, client):
    s = client.get_inference_statistics()
    names = [m["name"] for m in s["model_stats"]] if module is httpclient else [m.name for m in s.model_stats]
    assert {"simple", "resnet50", "repeat_int32"} <= set(names), names
    assert names.count("text_classifier") == 2, names
    expect_error(lambda: client.get_inference_statistics("no_such"), "requested model 'no_such' is not available")


@both
def statistics_by_batch_size(module, client):
    _, _, inputs = simple_inputs(module, 5)
    client.infer("simple", inputs)
    s = client.get_inference_statistics("simple")
    sizes = [int(b["batch_size"]) for b in s["model_stats"][0]["batch_stats"]] if module is httpclient else [b.batch_size for b in s.model_stats[0].batch_stats]
    assert 5 in sizes, sizes
