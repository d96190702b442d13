"""Drives a server that wants certificates: encrypted.py HTTP-ADDRESS GRPC-ADDRESS FOLDER.

The folder holds ca.crt, client.crt and client.key.
"""

import os
import sys
import traceback

import gevent.ssl
import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

HTTP, GRPC, CERTS = sys.argv[1:4]
CA, CERT, KEY = (os.path.join(CERTS, f) for f in ("ca.crt", "client.crt", "client.key"))


def sum_of(module, client):
    a = np.arange(16, dtype=np.int32).reshape(1, 16)
    inputs = [module.InferInput(n, [1, 16], "INT32") for n in ("INPUT0", "INPUT1")]
    for i in inputs:
        i.set_data_from_numpy(a)
    assert (client.infer("simple", inputs).as_numpy("OUTPUT0") == 2 * a).all()


def over_http():
    options = {"ca_certs": CA, "certfile": CERT, "keyfile": KEY}
    with httpclient.InferenceServerClient(HTTP, ssl=True, ssl_options=options) as client:
        sum_of(httpclient, client)


def over_http_with_a_context():
    def context():
        c = gevent.ssl.create_default_context(cafile=CA)
        c.load_cert_chain(CERT, KEY)
        return c

    with httpclient.InferenceServerClient(HTTP, ssl=True, ssl_context_factory=context) as client:
        sum_of(httpclient, client)


def over_grpc():
    with grpcclient.InferenceServerClient(GRPC, ssl=True, root_certificates=CA, private_key=KEY, certificate_chain=CERT) as client:
        sum_of(grpcclient, client)


def over_grpc_without_a_certificate():
    with grpcclient.InferenceServerClient(GRPC, ssl=True, root_certificates=CA) as client:
        try:
            client.is_server_live()
        except grpcclient.InferenceServerException as e:
            assert e.status() == "StatusCode.UNAVAILABLE", e
        else:
            raise AssertionError("no error was reported")


failed = 0
for check in (over_http, over_http_with_a_context, over_grpc, over_grpc_without_a_certificate):
    try:
        check()
        print(f"ok    {check.__name__}", flush=True)
    except Exception:
        failed += 1
        print(f"FAIL  {check.__name__}\n{traceback.format_exc()}", flush=True)
sys.exit(failed)
