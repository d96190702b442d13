"""Writes the models of TestEngineForms: models.py <folder> <name>..., one file each."""

import os
import sys

import numpy as np

rng = np.random.default_rng(7)
X = rng.standard_normal((400, 4)).astype(np.float32)
TWO, THREE = (X[:, 0] * X[:, 1] > 0).astype(int), np.digitize(X[:, 0], [-0.4, 0.4])


def xgb(objective, y, **more):
    import xgboost
    return xgboost.train({"objective": objective, "max_depth": 4, **more}, xgboost.DMatrix(X, y), 20)


def lgb(objective, y, **more):
    import lightgbm
    return lightgbm.train({"objective": objective, "num_leaves": 15, "verbose": -1, **more}, lightgbm.Dataset(X, y), 20)


def checkpoint(path):
    import treelite
    source = path + ".json"
    xgb("binary:logistic", TWO).save_model(source)
    treelite.frontend.load_xgboost_model(source).serialize(path)
    os.remove(source)


def wide(path):
    import treelite
    source = path + ".txt"
    lgb("binary", TWO).save_model(source)
    treelite.frontend.load_lightgbm_model(source).serialize(path)
    os.remove(source)


def network(path, batch=-1):
    import openvino as ov
    import openvino.opset13 as op
    x = op.parameter([batch, 4], np.float32)
    x.output(0).set_names({"x"})
    y = op.relu(op.matmul(x, op.constant(rng.standard_normal((4, 3)).astype(np.float32)), False, False))
    y.output(0).set_names({"y"})
    ov.save_model(ov.Model([op.result(y)], [x], "network"), path, compress_to_fp16=False)


def passing(path, kind):
    """A model that returns its input."""
    import openvino as ov
    import openvino.opset13 as op
    x = op.parameter([-1, 2], kind)
    x.output(0).set_names({"x"})
    y = op.concat([x, x], 1) if kind != ov.Type.string else x
    y.output(0).set_names({"y"})
    ov.save_model(ov.Model([op.result(y)], [x], "passing"), path, compress_to_fp16=False)


def text(path):
    import openvino as ov
    passing(path, ov.Type.string)


def longs(path):
    import openvino as ov
    passing(path, ov.Type.i64)


MODELS = {
    "xgboost.json": lambda p: xgb("binary:logistic", TWO).save_model(p),
    "xgboost.ubj": lambda p: xgb("reg:squarederror", X[:, 0]).save_model(p),
    "softprob.json": lambda p: xgb("multi:softprob", THREE, num_class=3).save_model(p),
    "softmax.json": lambda p: xgb("multi:softmax", THREE, num_class=3).save_model(p),
    "model.txt": lambda p: lgb("binary", TWO).save_model(p),
    "multiclass.txt": lambda p: lgb("multiclass", THREE, num_class=3).save_model(p),
    "regression.txt": lambda p: lgb("regression", X[:, 0]).save_model(p),
    "checkpoint.tl": checkpoint, "wide.tl": wide,
    "model.xml": network, "fixed.xml": lambda p: network(p, 1), "text.xml": text, "longs.xml": longs,
}

for name in sys.argv[2:]:
    MODELS[name](os.path.join(sys.argv[1], name))
