"""A client of the v2 protocol over HTTP that needs only the standard library."""

import argparse
import http.client
import json
import pathlib


class Server:
    """A connection to a server, "host:port"."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def infer(self, model, name, data_type, shape, raw, output=None, **parameters):
        """Sends one input tensor as bytes; returns the shape and the bytes of the first output.

        An output with classification comes as text, "value:index:label" for each class.
        """
        return next(iter(self.outputs(model, name, data_type, shape, raw, output, **parameters).values()))

    def outputs(self, model, name, data_type, shape, raw, output=None, **parameters):
        """Sends one input tensor as bytes; returns shape and bytes of each output, by name."""
        tensor = {"name": name, "datatype": data_type, "shape": shape, "parameters": {"binary_data_size": len(raw)}}
        head = {"inputs": [tensor], "parameters": {**parameters, "binary_data_output": True}}
        if output:
            head["outputs"] = [{**output, "parameters": {**output.get("parameters", {}), "binary_data": True}}]
        head = json.dumps(head).encode()
        headers = {"Inference-Header-Content-Length": str(len(head))}
        try:
            self.connection.request("POST", f"/v2/models/{model}/infer", head + raw, headers)
        except OSError as error:
            raise SystemExit(f"{self.connection.host}:{self.connection.port}: {error}; is the server running?")
        reply = self.connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise SystemExit(f"{model}: {json.loads(body).get('error', reply.reason)}")
        n = int(reply.headers.get("Inference-Header-Content-Length", len(body)))  # none if all outputs are empty
        found = {}
        for tensor in json.loads(body[:n])["outputs"]:  # the bytes are in the order of the outputs
            end = n + tensor["parameters"]["binary_data_size"]
            found[tensor["name"]] = tensor["shape"], body[n:end]
            n = end
        return found


def existing(text):
    """An argument type of argparse: the path of a file that exists."""
    path = pathlib.Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text} is not a file")
    return path


def strings(raw):
    """Decodes the strings of a tensor; the length of each precedes it."""
    found, at = [], 0
    while at < len(raw):
        n = int.from_bytes(raw[at : at + 4], "little")
        found.append(raw[at + 4 : at + 4 + n].decode())
        at += 4 + n
    return found
