"""Settings of trace and log at run time."""

from harness import Skip, both, expect_error, httpclient, needs


def trace_of(module, settings):
    return settings if module is httpclient else {k: list(v.value) for k, v in settings.settings.items()}


def one(v):
    return v[0] if isinstance(v, list) else v


@both
def trace_settings(module, client):
    got = trace_of(module, client.get_trace_settings())
    assert one(got["trace_level"]) == "OFF" and one(got["trace_rate"]) == "1000", got
    got = trace_of(module, client.update_trace_settings(settings={"trace_rate": "7", "log_frequency": "3"}))
    assert one(got["trace_rate"]) == "7" and one(got["log_frequency"]) == "3", got
    got = trace_of(module, client.update_trace_settings(settings={"trace_rate": None, "log_frequency": None}))
    assert one(got["trace_rate"]) == "1000" and one(got["log_frequency"]) == "0", got


@both
def trace_settings_of_a_model(module, client):
    got = trace_of(module, client.update_trace_settings("simple", {"trace_rate": "5", "trace_level": ["TIMESTAMPS"]}))
    assert one(got["trace_rate"]) == "5" and one(got["trace_level"]) == "TIMESTAMPS", got
    assert one(trace_of(module, client.get_trace_settings())["trace_rate"]) == "1000"
    assert one(trace_of(module, client.get_trace_settings("simple"))["trace_rate"]) == "5"
    got = trace_of(module, client.update_trace_settings("simple", {"trace_rate": None, "trace_level": None}))
    assert one(got["trace_rate"]) == "1000" and one(got["trace_level"]) == "OFF", got


@both
def wrong_trace_settings(module, client):
    expect_error(lambda: client.update_trace_settings(settings={"trace_rate": "often"}), "trace_rate")
    expect_error(lambda: client.update_trace_settings("no_such", {"trace_rate": "5"}), "Request for unknown model : no_such")


def log_of(module, settings):
    if module is httpclient:
        return settings
    return {k: getattr(v, v.WhichOneof("parameter_choice")) for k, v in settings.settings.items()}


@both
def log_settings(module, client):
    if not hasattr(client, "get_log_settings"):
        raise Skip("this client has no log settings")
    before = log_of(module, client.get_log_settings())
    assert before["log_info"] is True and before["log_verbose_level"] == 0 and before["log_format"] == "default", before
    after = log_of(module, client.update_log_settings({"log_verbose_level": 1, "log_info": False, "log_format": "ISO8601"}))
    assert after["log_verbose_level"] == 1 and after["log_info"] is False and after["log_format"] == "ISO8601", after
    log_of(module, client.update_log_settings({"log_verbose_level": 0, "log_info": True, "log_format": "default"}))
    assert log_of(module, client.get_log_settings()) == before


@both
def wrong_log_settings(module, client):
    with needs("log settings"):
        expect_error(lambda: client.update_log_settings({"log_format": "morse"}), "morse")
