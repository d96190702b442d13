"""Sends requests of the v2 protocol over HTTP and gRPC, with raw tensors both ways."""

import http.client
import json

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from cases import Tensor


class Refused(Exception):
    """An error response; the text is the server's."""


class HTTP:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=120)

    def get(self, path, method="GET"):
        self.connection.request(method, path)
        reply = self.connection.getresponse()
        body = json.loads(reply.read() or b"{}")
        if reply.status != 200:
            raise Refused(body.get("error", reply.status))
        return body

    def infer(self, model, tensors):
        head = {
            "inputs": [
                {"name": t.name, "datatype": t.data_type, "shape": t.shape, "parameters": {"binary_data_size": len(t.raw)}}
                for t in tensors
            ],
            "parameters": {"binary_data_output": True},
        }
        head = json.dumps(head).encode()
        body = head + b"".join(t.raw for t in tensors)
        self.connection.request("POST", f"/v2/models/{model}/infer", body, {"Inference-Header-Content-Length": str(len(head))})
        reply = self.connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise Refused(json.loads(body)["error"])
        n = int(reply.headers.get("Inference-Header-Content-Length") or len(body))
        found, at = {}, n
        for o in json.loads(body[:n]).get("outputs", []):
            size = o["parameters"]["binary_data_size"]
            found[o["name"]] = Tensor(o["name"], o["datatype"], tuple(o["shape"]), body[at : at + size])
            at += size
        return found


class GRPC:
    def __init__(self, address):
        limit = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(address, options=limit))

    def infer(self, model, tensors):
        request = service_pb2.ModelInferRequest(model_name=model)
        for t in tensors:
            request.inputs.add(name=t.name, datatype=t.data_type, shape=t.shape)
            request.raw_input_contents.append(t.raw)
        try:
            reply = self.stub.ModelInfer(request, timeout=120)
        except grpc.RpcError as e:
            raise Refused(e.details()) from None
        return {
            o.name: Tensor(o.name, o.datatype, tuple(o.shape), raw)
            for o, raw in zip(reply.outputs, reply.raw_output_contents)
        }
