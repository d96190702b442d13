"""The backends "fil", "xgboost", "lightgbm" and "sklearn": trees and other models of scikit-learn,
with the configuration of NVIDIA's FIL backend: input__0, output__0, model_type, is_classifier,
predict_proba and threshold."""

import json

import _triton_framework as framework
import numpy as np

FILES = {
    "xgboost_ubj": ("xgboost.ubj",), "xgboost_json": ("xgboost.json",), "xgboost": ("xgboost.model",),
    "lightgbm": ("model.txt",), "treelite_checkpoint": ("checkpoint.tl",), "sklearn": ("model.joblib", "model.pkl"),
}
XGBOOST = ("xgboost_ubj", "xgboost_json", "xgboost")


class XGBoost:
    """A booster of XGBoost."""

    def __init__(self, path, backend):
        self.library = framework.need("xgboost", "xgboost", backend)
        self.booster = self.library.Booster(model_file=path)
        learner = json.loads(self.booster.save_config())["learner"]
        self.objective = learner["objective"]["name"]
        self.classes = max(int(learner["learner_model_param"].get("num_class", 0)), 0)
        self.features = self.booster.num_features()
        self.classifier = self.objective.startswith(("binary:", "multi:"))

    def predict(self, x):
        if self.objective == "multi:softmax":  # it would return classes
            margin = self.booster.inplace_predict(x, predict_type="margin")
            e = np.exp(margin - margin.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
        return self.booster.inplace_predict(x)


class LightGBM:
    """A booster of LightGBM."""

    def __init__(self, path, backend):
        self.booster = framework.need("lightgbm", "lightgbm", backend).Booster(model_file=path)
        self.features = self.booster.num_feature()
        k = self.booster.num_model_per_iteration()
        self.classes = k if k > 1 else 0
        with open(path, encoding="utf-8", errors="replace") as f:
            head = f.read(4096)
        self.classifier = any(f"objective={o}" in head for o in ("binary", "multiclass", "cross_entropy"))

    def predict(self, x):
        return self.booster.predict(x)


class Treelite:
    """A checkpoint of Treelite."""

    def __init__(self, path, backend):
        self.library = framework.need("treelite", "treelite", backend)
        framework.need("treelite.gtil", "treelite", backend)
        self.model = self.library.Model.deserialize(path)
        self.features = self.model.num_feature
        self.classes = 0
        self.classifier = False

    def predict(self, x):
        y = np.asarray(self.library.gtil.predict(self.model, x.astype(np.float32)))
        return y.reshape(len(x), -1)


class SKLearn:
    """An estimator of scikit-learn. Files of joblib and pickle run code when they are loaded."""

    def __init__(self, path, backend):
        framework.need("sklearn", "scikit-learn", backend)
        if path.endswith(".pkl"):
            import pickle
            with open(path, "rb") as f:
                self.model = pickle.load(f)
        else:
            self.model = framework.need("joblib", "joblib", backend).load(path)
        self.features = getattr(self.model, "n_features_in_", -1)
        self.labels = getattr(self.model, "classes_", None)
        self.classifier = self.labels is not None
        self.classes = len(self.labels) if self.classifier else 0

    def predict(self, x):
        if not self.classifier:
            return self.model.predict(x)
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(x)
        return np.eye(self.classes)[np.searchsorted(self.labels, self.model.predict(x))]


LOADERS = {"lightgbm": LightGBM, "treelite_checkpoint": Treelite, "sklearn": SKLearn, **dict.fromkeys(XGBOOST, XGBoost)}


def load(config):
    """Opens the model file of a configuration."""
    backend = config["backend"]
    kind = framework.parameter(config, "model_type")
    if not kind and backend in ("lightgbm", "sklearn"):
        kind = backend
    if kind and kind not in LOADERS:
        raise framework.PlainError(f"unknown model_type '{kind}': use one of {', '.join(sorted(LOADERS))}")
    kinds = [kind] if kind else list(XGBOOST)
    path = framework.model_path(config, *[f for k in kinds for f in FILES[k]])
    loader = LOADERS[kinds[0]]
    return loader(path, backend)


class TritonPythonModel(framework.FrameworkModel):
    @staticmethod
    def auto_complete_config(config):
        c = config.as_dict()
        if c.get("input") and c.get("output"):
            return config
        m = load(c)
        proba = framework.flag(c, "predict_proba")
        width = max(m.classes, 1) if proba or not classifies(c, m) else 1
        return framework.complete(config, [("input__0", "TYPE_FP32", [-1, m.features])], [("output__0", "TYPE_FP32", [-1, width])], True)

    def open(self):
        self.model = load(self.config)
        self.classifier = classifies(self.config, self.model)
        self.proba = framework.flag(self.config, "predict_proba")
        text = framework.parameter(self.config, "threshold", "0.5")
        try:
            self.threshold = float(text)
        except ValueError:
            raise framework.PlainError(f"parameter threshold: '{text}' is not a number") from None

    def run(self, inputs):
        (x,) = inputs.values()
        y = np.asarray(self.model.predict(x))
        if self.classifier:
            y = self.classify(y)
        out = self.outputs[0]
        dims = [int(d) for d in out["dims"]]
        y = y.reshape(len(x), -1)
        if self.batches and -1 not in dims and y.shape[1] != int(np.prod(dims)):
            raise framework.PlainError(f"the model has {y.shape[1]} values for output '{out['name']}', the configuration {dims}")
        if self.batches and -1 not in dims:
            y = y.reshape([len(x)] + dims)
        return {out["name"]: y.astype(framework.pb_utils.triton_string_to_numpy(out["data_type"]))}

    def classify(self, y):
        """Probabilities, or the numbers of the classes."""
        y = y.reshape(len(y), -1)
        if y.shape[1] == 1:  # the probability of the second of two classes
            if not self.proba:
                return y > self.threshold
            return np.hstack([1 - y, y]) if int(self.outputs[0]["dims"][-1]) == 2 else y
        if self.proba:
            return y[:, 1:] if y.shape[1] == 2 and int(self.outputs[0]["dims"][-1]) == 1 else y
        return y[:, 1] > self.threshold if y.shape[1] == 2 else y.argmax(axis=1)


def classifies(config, model):
    """Whether the model is a classifier: as the configuration says, else as the model is."""
    for key in ("is_classifier", "output_class"):
        if framework.parameter(config, key):
            return framework.flag(config, key)
    return model.classifier and config["backend"] != "fil"
