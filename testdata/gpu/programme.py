"""Runs the checks one after the other, each in a process with its own time limit, and writes the report."""

import argparse
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent

# Check, most seconds, what it is about. The cheapest and most telling first; the last may be cut off.
CHECKS = [
    ("nvml", 40, "devices, metrics and doctor beside nvidia-smi"),
    ("tests", 60, "the Go tests of the packages that call NVIDIA's libraries"),
    ("onnx", 90, "ONNX Runtime with CUDA: answers, placement, options, wrong ordinals"),
    ("memory", 110, "footprint, analyze, out of memory, loads and unloads"),
    ("sharedmemory", 50, "CUDA shared memory of clients"),
    ("speed", 110, "the server beside the session alone"),
    ("python", 60, "Python models with tensors on the GPU"),
    ("ondemand", 50, "models on demand, isolation, a killed model"),
    ("tools", 110, "triton perf with GPU metrics, triton analyze profile"),
    ("sanitizer", 60, "compute-sanitizer over CUDA shared memory"),
]


def main():
    p = argparse.ArgumentParser(prog="run.sh")
    p.add_argument("kit", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--stand-in", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--minutes", type=float, default=9)
    args = p.parse_args()
    wanted = [c for c in args.only.split(",") if c]
    unknown = sorted(set(wanted) - {c for c, _, _ in CHECKS})
    if unknown:
        p.error(f"unknown checks: {', '.join(unknown)}; there are {', '.join(c for c, _, _ in CHECKS)}")
    begin = time.time()
    report = {"format": "triton-gpu-report", "version": 1, "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
              "stand_in": args.stand_in, "machine": machine(args), "checks": []}  # fmt: skip
    for name, limit, about in CHECKS:
        if wanted and name not in wanted:
            continue
        left = begin + 60 * args.minutes - time.time()
        if left < 5:
            report["checks"].append({"name": name, "about": about, "state": "not run", "seconds": 0, "rows": [], "note": "no time was left"})
        else:
            report["checks"].append(check(name, about, min(limit, left), args))
        report["seconds"] = round(time.time() - begin, 1)
        write(args.out / "report.json", json.dumps(report, indent=1))
    print(table(report))
    return 0 if all(c["state"] == "ok" for c in report["checks"]) else 1


def write(path, text):
    part = path.with_suffix(".part")
    part.write_text(text + "\n")
    part.rename(path)


def machine(args):
    about = {"system": f"{platform.system()} {platform.release()}", "python": platform.python_version(), "cpus": os.cpu_count()}
    try:
        query = ["nvidia-smi", "--query-gpu=name,uuid,memory.total,memory.used,utilization.gpu,power.draw,driver_version", "--format=csv,noheader,nounits"]
        about["gpu"], *_, about["driver"] = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout.splitlines()[0].split(", ")
    except (OSError, IndexError, ValueError, subprocess.SubprocessError) as e:
        about["gpu"] = f"nvidia-smi does not answer: {e}"[:200]
    try:
        about["triton"] = subprocess.run([args.kit / "bin" / "triton", "--version"], capture_output=True, text=True, timeout=20).stdout.splitlines()[0]
    except (OSError, IndexError, subprocess.SubprocessError) as e:
        about["triton"] = str(e)[:200]
    return about


def check(name, about, limit, args):
    print(f"{name}: {about} (at most {limit:.0f} s)", flush=True)
    begin = time.time()
    env = {**os.environ, "TRITON_GPU_KIT": str(args.kit), "TRITON_GPU_OUT": str(args.out), "TRITON_GPU_CHECK": name,
           "TRITON_GPU_STAND_IN": "1" if args.stand_in else "", "TRITON_GPU_DEADLINE": str(begin + limit)}  # fmt: skip
    result = {"name": name, "about": about, "state": "ok", "rows": [], "note": ""}
    with open(args.out / f"{name}.log", "w") as log:
        p = subprocess.Popen([sys.executable, "-u", HERE / f"check_{name}.py"], stdout=subprocess.PIPE, stderr=log, text=True, env=env, start_new_session=True)
        timer = threading.Timer(limit, end, [p])
        timer.start()
        # A pipe that a forgotten child keeps open ends with its group, at the limit at the latest.
        for line in p.stdout:
            if line.startswith("ROW "):
                r = json.loads(line[4:])
                result["rows"].append(r)
                print("  " + text(r), flush=True)
            else:
                log.write(line)
        p.wait()
        timed_out = not timer.is_alive()
        timer.cancel()
        end(p)
    if timed_out:
        result["state"], result["note"] = "timed out", f"after {limit:.0f} s"
    elif p.returncode:
        last = (args.out / f"{name}.log").read_text(errors="replace").strip().splitlines()[-1:]
        result["state"], result["note"] = "failed", f"exit code {p.returncode}: {' '.join(last)}"[:300]
    elif any(r["ok"] is False for r in result["rows"]):
        result["state"] = "failed"
    result["seconds"] = round(time.time() - begin, 1)
    return result


def end(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def text(r):
    value = "" if r["value"] is None else f"{r['value']:.4g}" if isinstance(r["value"], float) else str(r["value"])
    verdict = {True: "ok", False: "FAILED", None: "-"}[r["ok"]]
    return f"{verdict:6} {r['name']:52} {value} {r['unit']}".rstrip() + (f"  (bar: {r['bar']})" if r["bar"] else "") + (f"  {r['note']}" if r["note"] else "")


def table(report):
    """At most 60 lines: the checks, then what failed, then figures as far as there is room."""
    lines = [f"{report['machine'].get('gpu')}, driver {report['machine'].get('driver', '?')}, {report['machine']['triton']}, {report['seconds']} s" + (", STAND-IN" if report["stand_in"] else "")]
    rows = [(c, r) for c in report["checks"] for r in c["rows"]]
    for c in report["checks"]:
        count = [sum(1 for r in c["rows"] if r["ok"] is v) for v in (True, False, None)]
        lines.append(f"{c['name']:14} {c['state']:10} {c['seconds']:6.1f} s  {count[0]} ok, {count[1]} failed, {count[2]} without verdict  {c['note']}"[:160])
    failed = [f"{c['name']}: {text(r)}"[:200] for c, r in rows if r["ok"] is False]
    figures = [f"{c['name']}: {text(r)}"[:160] for c, r in rows if r["ok"] is not False and r["value"] is not None]
    for more in (failed, figures):
        room = 59 - len(lines)
        lines += more[:room]
        if len(more) > room:
            lines.append(f"... and {len(more) - room} more in report.json")
            break
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
