"""The figure guard: server CPU per request of this build beside that of another revision.

One round starts both servers anew, since two starts of one program may differ, and loads one after the
other with NVIDIA's perf_analyzer, on one core. Each other round goes backwards.
"""

import os
import pathlib
import statistics
import subprocess
import sys


def built(revision):
    """Returns the program of a revision, built in build/guard/."""
    sha = subprocess.run(["git", "rev-parse", "--short=12", f"{revision}^{{commit}}"], capture_output=True, text=True)
    if sha.returncode:
        sys.exit(f"no such revision: {revision}")
    folder = pathlib.Path("build/guard", sha.stdout.strip()).absolute()
    program = folder / "bin" / "triton"
    if not program.exists():
        source = folder / "source"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "worktree", "add", "--force", "--detach", source, revision], check=True, stdout=sys.stderr)
        try:
            subprocess.run(["make", "-C", source, "build"], check=True, stdout=sys.stderr)
            program.parent.mkdir(exist_ok=True)
            os.replace(source / "bin" / "triton", program)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", source], check=True, stdout=sys.stderr)
    library = folder / "lib"
    if not library.is_symlink():
        library.symlink_to(pathlib.Path("lib").absolute())
    return str(program)


def guard(bench):
    bases = [(revision, built(revision)) for revision in (bench.args.base or "main").split(",")]
    print(f"### Server CPU per request against {', '.join(r for r, _ in bases)}: `simple`, concurrency 8, one core, µs\n")
    repository = bench.only(bench.args.models, "simple", bench.one_thread)
    programs = [*bases, ("this", bench.args.triton)]
    runs = {}
    for round in range(bench.args.repeats):
        for name, program in programs if round % 2 == 0 else reversed(programs):
            with bench.Server([program, "serve"], repository, core=0) as server:
                for protocol in ("http", "grpc"):
                    bench.load(server, "simple", protocol, 8, core=0)  # warm-up
                    figure = bench.load(server, "simple", protocol, 8, core=0)
                    runs.setdefault((protocol, name), []).append(figure["server_us"])
    rows = []
    for protocol in ("http", "grpc"):
        this = runs[protocol, "this"]
        for name, _ in bases:
            base = runs[protocol, name]
            ratios = sorted(t / b for t, b in zip(this, base))
            rows.append([
                protocol, name, f"{statistics.median(base):.1f}", f"{statistics.median(this):.1f}",
                f"{statistics.median(ratios):.3f}", f"{ratios[0]:.3f} to {ratios[-1]:.3f}",
            ])  # fmt: skip
    bench.table(["", "base", "base CPU us", "this CPU us", "ratio of a round, median", "least to most"], rows)
