#!/usr/bin/env python3
"""Runs `triton analyze` several times on the same models and prints the spread of the answers.

  spread.py --triton bin/triton --models models [--runs 10] [--memory 8GiB] [MODEL ...]

The number of instances that memory holds must be the same in all runs of a model, or the exit code is 1.
Each run starts its own servers; nothing else should take memory meanwhile.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# Shapes of models whose inputs have variable dimensions.
SHAPES = {"bert_model": ["input_ids:32", "attention_mask:32"]}
MIB = 1 << 20


def run(o, model, path):
    """Analyzes a model once and returns its entry of the report."""
    shapes = [a for s in SHAPES.get(model, []) for a in ("--shape", s)]
    command = [o.triton, "analyze", "memory", "-m", model, "--model-repository", o.models, "--memory", o.memory,
               "--output", "json", "-o", path, *shapes, *o.flag]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not os.path.exists(path):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    with open(path) as f:
        return json.load(f)["models"][0]


def describe(values, form):
    """The least, the median and the greatest of a figure."""
    values = sorted(values)
    return " / ".join(form % v for v in (values[0], statistics.median(values), values[-1]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--triton", default="bin/triton")
    p.add_argument("--models", default="models")
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--memory", default="8GiB", help="memory that the server may use: the question, so that other programs do not change it")
    p.add_argument("--flag", action="append", default=[], help="a further flag of triton analyze memory; may be repeated")
    p.add_argument("model", nargs="*", default=["bert_model", "resnet50"])
    o = p.parse_args()
    failed = False
    print("| Model | Runs | Instances that memory holds | Status | MiB for an instance, least / median / most | MiB without instances |\n|---|---|---|---|---|---|", flush=True)
    for model in o.model:
        entries = []
        with tempfile.TemporaryDirectory() as scratch:
            for n in range(o.runs):
                entries.append(run(o, model, os.path.join(scratch, f"{n}.json")))
                print(f"{model} {n + 1}: {json.dumps(entries[-1]['answer'])}", file=sys.stderr, flush=True)
        counts = [e["answer"].get("k_mem") for e in entries]
        fits = [next(iter(e["fit"].values())) for e in entries if e.get("fit")]
        failed |= len(set(counts)) > 1
        print("| %s | %d | %s | %s | %s | %s |" % (
            model, len(entries), ", ".join(str(c) for c in sorted(set(counts), key=str)),
            ", ".join(sorted({e["answer"].get("k_mem_status", e["answer"].get("status", "")) for e in entries})),
            describe([f["beta"][0] / MIB for f in fits], "%.1f") if fits else "-",
            describe([f["alpha"][0] / MIB for f in fits], "%.1f") if fits else "-"), flush=True)
    if failed:
        sys.exit("the answers differ: see the lines of each run")


if __name__ == "__main__":
    main()
