"""Writes the .onnx files of this folder with the onnx package (1.22), so that
the reader is tested on files that another program wrote.

    python make.py
"""
import os
import onnx
from onnx import TensorProto as T, helper as h

here = os.path.dirname(os.path.abspath(__file__))


def save(name, nodes, inputs, outputs, ir=8, init=(), sparse=(), **model):
    graph = h.make_graph(nodes, name, inputs, outputs, list(init), sparse_initializer=list(sparse))
    m = h.make_model(graph, ir_version=ir, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("ai.onnx.ml", 3)],
                     producer_name="make.py", producer_version="1", domain="test", model_version=7, **model)
    h.set_model_props(m, {"author": "nobody", "labels": "a,b"})
    onnx.save(m, os.path.join(here, name + ".onnx"))


def value(name, typ=T.FLOAT, shape=()):
    return h.make_tensor_value_info(name, typ, shape)


def weight(name, shape=(2,)):
    n = 1
    for d in shape:
        n *= d
    return h.make_tensor(name, T.FLOAT, shape, [1.0] * n)


identity = h.make_node("Identity", ["a"], ["b"])
save("shapes", [identity],
     [value("a", shape=("batch", 3, None)), value("scalar", T.INT64), value("unranked", T.DOUBLE, None)],
     [value("b", shape=("batch", 3, None)), value("zero", T.BOOL, (0,))])
save("overridable", [h.make_node("Add", ["a", "w"], ["b"])],
     [value("a", shape=(2,)), value("w", shape=(2,))], [value("b", shape=(2,))], init=[weight("w"), weight("v", (3, 4))])
save("constants_as_inputs", [h.make_node("Add", ["a", "w"], ["b"])],
     [value("w", shape=(2,)), value("a", shape=(2,))], [value("b", shape=(2,))], ir=3, init=[weight("w")])

tensor = h.make_tensor_type_proto(T.FLOAT, (2,))
save("kinds", [identity],
     [h.make_value_info("sequence", h.make_sequence_type_proto(tensor)),
      h.make_value_info("map", h.make_map_type_proto(T.INT64, tensor)),
      h.make_value_info("optional", h.make_optional_type_proto(tensor)),
      h.make_value_info("sparse", h.make_sparse_tensor_type_proto(T.FLOAT, (4, "n"))),
      onnx.ValueInfoProto(name="untyped"), value("a")],
     [value("b")],
     sparse=[h.make_sparse_tensor(weight("s", (2,)), h.make_tensor("s_i", T.INT64, (2,), [0, 3]), (5,))])
save("types", [identity], [value("a")] + [value(n.lower(), t) for n, t in T.DataType.items() if n != "UNDEFINED"], [value("b")])

external = weight("w")
external.ClearField("float_data")
external.data_location = T.EXTERNAL
for k, v in (("location", "weights.bin"), ("offset", "0"), ("length", "8")):
    external.external_data.add(key=k, value=v)
second = onnx.TensorProto()
second.CopyFrom(external)
second.name = "w2"
save("external", [identity], [value("a")], [value("b")], init=[external, second])
