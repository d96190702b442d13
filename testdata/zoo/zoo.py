"""Loads the models of the onnx package's backend tests as one repository and compares the results.

    zoo.py --triton bin/triton --work build/zoo [--nvidia tritonserver --nvidia-backends DIR] [MODEL ...]

Each model runs with its recorded inputs: in ONNX Runtime alone (its Python package), on our server
over HTTP and gRPC, and on NVIDIA's server if its ONNX Runtime backend is installed. Outputs must have
the same bits. Differences that known.txt does not list with their reason make the exit code 1; so do
listed ones that no longer occur. MODELs limit the run.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import sys

import onnx
import onnxruntime

import bare
import cases
import differences
import servers
import wire

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass
class Outcome:
    """The result of one model on one server, or in ONNX Runtime alone."""

    loaded: bool
    reason: str = ""
    config: dict = dataclasses.field(default_factory=dict)
    answers: dict = dataclasses.field(default_factory=dict)  # by protocol; of each data set outputs, or the error's text


def run_onnxruntime(case):
    try:
        model = bare.Model(case.path, os.cpu_count())
    except Exception as e:  # the package has no common class for its errors
        return Outcome(False, str(e))
    answers = []
    for tensors in case.sets:
        try:
            answers.append(model.infer(tensors))
        except Exception as e:
            answers.append(str(e))
    return Outcome(True, answers={"onnxruntime": answers})


def sendable(tensors, config):
    """Returns the tensors that the configuration names, a scalar with the shape [1], its form there."""
    names = {i["name"] for i in config.get("input", [])}
    return [dataclasses.replace(t, shape=t.shape or (1,)) for t in tensors if t.name in names]


def run_server(server, found, models):
    """Sends all cases to a running server; the repository's path is removed from its texts."""
    http, grpc = wire.HTTP(server.http), wire.GRPC(server.grpc)
    index = {m["name"]: m for m in http.get("/v2/repository/index", "POST")}
    outcomes = {}
    for case in found:
        entry = index[case.name]
        if entry.get("state") != "READY":
            outcomes[case.name] = Outcome(False, entry.get("reason", "").replace(f"{models}/", ""))
            continue
        config = http.get(f"/v2/models/{case.name}/config")
        answers = {"HTTP": [], "gRPC": []}
        for tensors in case.sets:
            tensors = sendable(tensors, config)
            for protocol, client in (("HTTP", http), ("gRPC", grpc)):
                try:
                    answers[protocol].append(client.infer(case.name, tensors))
                except wire.Refused as e:
                    answers[protocol].append(str(e))
        outcomes[case.name] = Outcome(True, "", config, answers)
    return outcomes


def serve(argv, found, models, log):
    server = servers.Server(argv, models, log)
    try:
        outcomes = run_server(server, found, models)
    finally:
        code = server.close()
    return outcomes, server, code


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def cost(server):
    return f"{server.seconds:.1f} s, {server.megabytes:.0f} MiB"


def table(found, alone, ours, mine, nvidia, theirs, known):
    """Prints the counts as Markdown."""
    sets = sum(len(o.answers["HTTP"]) for o in ours.values() if o.loaded)
    both = [c for c in found if ours[c.name].loaded and alone[c.name].loaded]
    row("", "models")
    row("---", "---")
    row("in the onnx package", len(found))
    row("opened by ONNX Runtime alone", sum(o.loaded for o in alone.values()))
    row("loaded here, without a configuration", sum(o.loaded for o in ours.values()))
    row("run here, HTTP and gRPC", f"{len(both)} with {sets} sets of inputs")
    row("time to load and memory here", cost(mine))
    if nvidia:
        row("loaded by NVIDIA's server", sum(o.loaded for o in nvidia.values()))
        row("time to load and memory there", cost(theirs))
    print()
    row("difference", "reason", "models")
    row("---", "---", "---")
    for (other, kind, reason), models in known.items():
        row(f"{'ONNX Runtime' if other == 'onnxruntime' else 'NVIDIA'}: {kind}", reason, len(models))
    print(flush=True)


def versions():
    pinned = re.search(r"^onnxruntime==([\d.]+)", (HERE / "../../deploy/onnxruntime.txt").read_text(), re.M)[1]
    if onnxruntime.__version__ != pinned:
        raise SystemExit(f"zoo: ONNX Runtime here is {onnxruntime.__version__}, the server's is {pinned}: set testdata/zoo/requirements.txt to it")
    print(f"zoo: onnx {onnx.__version__}, onnxruntime {pinned}")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--triton", required=True)
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--nvidia", default=os.environ.get("TRITON_NVIDIA_SERVER", ""))
    p.add_argument("--nvidia-backends", default=os.environ.get("TRITON_NVIDIA_BACKENDS", ""))
    p.add_argument("models", nargs="*")
    return p.parse_args()


def nvidia_command(args):
    """Returns NVIDIA's command line, or None when its backend is missing."""
    if not args.nvidia_backends:
        print("zoo: NVIDIA's server: not compared: TRITON_NVIDIA_BACKENDS names no folder with its onnxruntime backend")
    elif not pathlib.Path(args.nvidia_backends, "onnxruntime", "libtriton_onnxruntime.so").exists():
        raise SystemExit(f"zoo: {args.nvidia_backends} has no onnxruntime/libtriton_onnxruntime.so")
    elif not shutil.which(args.nvidia):
        raise SystemExit(f"zoo: TRITON_NVIDIA_SERVER is no program: {args.nvidia!r}")
    else:
        return [args.nvidia, f"--backend-directory={args.nvidia_backends}"]
    return None


def main():
    args = arguments()
    versions()
    theirs_argv = nvidia_command(args)
    found = [c for c in cases.find() if not args.models or c.name in args.models]
    models = args.work / "models"
    shutil.rmtree(models, ignore_errors=True)
    cases.repository(found, models)

    ours, mine, code = serve([args.triton, "serve"], found, models, args.work / "triton.log")
    alone = {c.name: run_onnxruntime(c) for c in found}
    seen = [d for c in found for d in differences.with_onnxruntime(c.name, alone[c.name], ours[c.name])]
    nvidia = theirs = None
    if theirs_argv:
        nvidia, theirs, _ = serve(theirs_argv, found, models, args.work / "nvidia.log")
        seen += [d for c in found for d in differences.with_nvidia(c.name, nvidia[c.name], ours[c.name])]

    sections = differences.read(HERE / "known.txt")
    unknown, missing = differences.check(seen, sections, ("onnxruntime", "nvidia") if nvidia else ("onnxruntime",))
    known = collections.defaultdict(set)
    for d in seen:
        for s in sections:
            if (s.other, s.kind) == (d.other, d.kind) and s.text in d.detail and d.model in s.models:
                known[s.other, s.kind, s.reason].add(d.model)
    table(found, alone, ours, mine, nvidia, theirs, known)
    for d in unknown:
        print(f"NEW [{d.other}] {d.kind}: {d.model}: {d.detail[:300]}")
    for line in missing if not args.models else ():
        print(f"NO LONGER {line}")
    if code != 0:
        print(f"zoo: our server ended with exit code {code}: {args.work / 'triton.log'}")
    if "panic" in (args.work / "triton.log").read_text(errors="replace"):
        print(f"zoo: a panic in {args.work / 'triton.log'}")
        code = 1
    print(f"zoo: {len(unknown)} new differences, {0 if args.models else len(missing)} that no longer occur")
    sys.exit(1 if unknown or code or missing and not args.models else 0)


if __name__ == "__main__":
    main()
