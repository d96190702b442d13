"""The backend "tensorflow": SavedModels (tensorflow_savedmodel) and frozen graphs (tensorflow_graphdef)."""

import _triton_framework as framework


def library():
    return framework.need("tensorflow", "tensorflow", "tensorflow")


def signature(config):
    """The function of a SavedModel, and the model, which must live as long."""
    tf = library()
    tags = framework.parameter(config, "TF_GRAPH_TAG") or None
    model = tf.saved_model.load(framework.model_path(config, "model.savedmodel"), tags=[tags] if tags else None)
    name = framework.parameter(config, "TF_SIGNATURE_DEF", "serving_default")
    if name not in model.signatures:
        raise framework.PlainError(f"the SavedModel has no signature '{name}': it has {', '.join(model.signatures) or 'none'}")
    return model.signatures[name], model


def described(spec):
    shape = spec.shape
    dims = [-1] if shape.rank is None else [-1 if d is None else int(d) for d in shape]
    return framework.triton_type(spec.dtype.as_numpy_dtype), dims


class TritonPythonModel(framework.FrameworkModel):
    @staticmethod
    def auto_complete_config(config):
        c = config.as_dict()
        if c.get("platform") == "tensorflow_graphdef" or c.get("input") and c.get("output"):
            return config  # a graph does not say what its inputs and outputs are
        function, _ = signature(c)
        inputs = [(n, *described(s)) for n, s in sorted(function.structured_input_signature[1].items())]
        outputs = [(n, *described(s)) for n, s in sorted(function.structured_outputs.items())]
        batchable = all(shape[:1] == [-1] for _, _, shape in inputs + outputs)
        return framework.complete(config, inputs, outputs, batchable)

    def open(self):
        self.tf = tf = library()
        for key, set_threads in (("TF_NUM_INTRA_THREADS", tf.config.threading.set_intra_op_parallelism_threads),
                                 ("TF_NUM_INTER_THREADS", tf.config.threading.set_inter_op_parallelism_threads)):
            n = framework.parameter(self.config, key)
            if n:
                set_threads(int(n))
        self.place = f"/GPU:{self.device}" if self.gpu else "/CPU:0"
        if self.config["platform"] == "tensorflow_graphdef":
            self.function = self.graph(framework.model_path(self.config, "model.graphdef"))
        else:
            self.function, self.model = signature(self.config)

    def graph(self, path):
        """A function of a frozen graph, whose tensors have the names of the configuration."""
        tf = self.tf
        definition = tf.compat.v1.GraphDef()
        with open(path, "rb") as f:
            definition.ParseFromString(f.read())
        wrapped = tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(definition, name=""), [])

        def tensor(name):
            return wrapped.graph.as_graph_element(name if ":" in name else name + ":0")
        names = [o["name"] for o in self.outputs]
        function = wrapped.prune([tensor(n) for n in self.inputs], [tensor(n) for n in names])
        return lambda **inputs: dict(zip(names, function(*[inputs[n] for n in self.inputs])))

    def run(self, inputs):
        with self.tf.device(self.place):
            results = self.function(**{n: self.tf.constant(a) for n, a in inputs.items()})
        return {name: t.numpy() for name, t in results.items()}
