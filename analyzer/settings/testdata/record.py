"""Records in accepted.txtar what NVIDIA's Model Analyzer reads from files.

Run it with a Python that has the package triton-model-analyzer, and with perf_analyzer on the path:
    python record.py accepted.txtar
"""

import copy
import json
import os
import re
import sys
import tempfile

from model_analyzer import entrypoint
from model_analyzer.config.generate.generator_utils import GeneratorUtils


def model(m):
    parameters = m.model_config_parameters()
    return {
        "name": m.model_name(),
        "cpu_only": m.cpu_only(),
        "batch_sizes": m.parameters()["batch_sizes"],
        "concurrency": m.parameters()["concurrency"],
        "request_rate": m.parameters()["request_rate"],
        "objectives": m.objectives(),
        "constraints": m.constraints().to_dict(),
        "weighting": m.weighting(),
        "perf_analyzer_flags": m.perf_analyzer_flags(),
        "triton_server_flags": {k.replace("_", "-"): v for k, v in m.triton_server_flags().items()},
        "triton_server_environment": m.triton_server_environment(),
        "triton_docker_args": m.triton_docker_args(),
        "combinations": GeneratorUtils.generate_combinations(copy.deepcopy(parameters)) if parameters else [],
    }


def read(config):
    os.chdir(tempfile.mkdtemp())
    os.mkdir("models")
    with open("config.yaml", "w") as f:
        f.write(config)
    sys.argv = ["model-analyzer", "profile", "-f", "config.yaml"]
    _, c = entrypoint.get_cli_and_config_options()
    return [model(m) for m in c.profile_models] + [c.inference_output_fields, c.gpu_output_fields]


def main():
    path = os.path.abspath(sys.argv[1])
    with open(path) as f:
        parts = re.split(r"^-- (.*) --\n", f.read(), flags=re.M)
    for i in range(1, len(parts), 2):
        if parts[i].endswith("/file"):
            config = parts[i + 1]
        else:
            parts[i + 1] = "".join(json.dumps(line) + "\n" for line in read(config))
    with open(path, "w") as f:
        f.write(parts[0])
        for i in range(1, len(parts), 2):
            f.write(f"-- {parts[i]} --\n{parts[i + 1]}")


main()
