"""Prints how NVIDIA's Model Analyzer compares measurements, one case a line, as JSON.

Run it with a Python that has the package triton-model-analyzer:
    python record.py > compared.jsonl
"""

import json
import random

from model_analyzer.record.types.perf_latency_avg import PerfLatencyAvg
from model_analyzer.record.types.perf_latency_p99 import PerfLatencyP99
from model_analyzer.record.types.perf_server_queue import PerfServerQueue
from model_analyzer.record.types.perf_throughput import PerfThroughput
from model_analyzer.result.constraint_manager import ConstraintManager
from model_analyzer.result.model_constraints import ModelConstraints
from model_analyzer.result.run_config_measurement import RunConfigMeasurement

RECORDS = {
    "perf_throughput": PerfThroughput,
    "perf_latency_p99": PerfLatencyP99,
    "perf_latency_avg": PerfLatencyAvg,
    "perf_server_queue": PerfServerQueue,
}
BOUNDS = {"perf_throughput": "min", "perf_latency_p99": "max", "perf_latency_avg": "max"}


def measurement(values, goals):
    m = RunConfigMeasurement("variants", {})
    for i, metrics in enumerate(values):
        m.add_model_config_measurement(f"m{i}", {}, [RECORDS[t](v) for t, v in metrics.items()])
    m.set_metric_weightings([g["objectives"] for g in goals])
    m.set_model_config_weighting([g["weight"] for g in goals])
    constraints = ConstraintManager(None)
    constraints._constraints = {f"m{i}": ModelConstraints(g["constraints"]) for i, g in enumerate(goals)}
    m.set_constraint_manager(constraints)
    return m, constraints


def main():
    random.seed(1)
    for _ in range(60):
        models = random.choice([1, 1, 2, 3])
        goals = [
            {
                "weight": random.randint(1, 5),
                "objectives": {t: random.randint(1, 10) for t in random.sample(sorted(RECORDS), random.randint(1, 3))},
                "constraints": {
                    t: {BOUNDS[t]: random.randint(20, 80)} for t in random.sample(sorted(BOUNDS), random.randint(0, 2))
                },
            }
            for _ in range(models)
        ]

        def values():
            tags = sorted(RECORDS)
            if random.random() < 0.2:
                tags.remove(random.choice(tags))
            return [{t: random.randint(1, 100) for t in tags} for _ in range(models)]

        a, b = values(), values()
        first, constraints = measurement(a, goals)
        second, _ = measurement(b, goals)
        print(
            json.dumps(
                {
                    "goals": goals,
                    "a": a,
                    "b": b,
                    "score": -first.compare_measurements(second),
                    "gain": first.calculate_weighted_percentage_gain(second),
                    "passes": first.is_passing_constraints(),
                    "failure": constraints.constraint_failure_percentage(first),
                    "constraints": first.compare_constraints(second),
                }
            )
        )


main()
