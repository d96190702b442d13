"""Prints reports of run.sh as the section "Results" of docs/gpu.md: results.py docs/gpu-results/*.json"""

import json
import sys


def cell(r):
    value = "" if r["value"] is None else f"{r['value']:.4g}" if isinstance(r["value"], float) else str(r["value"])
    return [r["name"], f"{value} {r['unit']}".strip(), r["bar"], {True: "met", False: "**failed**", None: ""}[r["ok"]], r["note"]]


def main(paths):
    if not paths:
        sys.exit(__doc__)
    for path in paths:
        with open(path) as f:
            report = json.load(f)
        if report.get("format") != "triton-gpu-report":
            sys.exit(f"{path}: no report of testdata/gpu/run.sh")
        if report["stand_in"]:
            sys.exit(f"{path}: a run with stand-ins says nothing about a GPU")
        m = report["machine"]
        print(f"### {m['gpu']}, driver {m.get('driver', '?')}, {report['created'][:10]}\n\n{m['triton']}, {report['seconds']:.0f} s in all.\n")
        print("| Check | State | Seconds | Met | Failed |\n|---|---|---|---|---|")
        for c in report["checks"]:
            met, failed = (sum(1 for r in c["rows"] if r["ok"] is v) for v in (True, False))
            print(f"| {c['name']} | {c['state']}{': ' + c['note'] if c['note'] else ''} | {c['seconds']:.0f} | {met} | {failed} |")
        print("\n| Figure | Value | Bar | | |\n|---|---|---|---|---|")
        for c in report["checks"]:
            for r in c["rows"]:
                if r["value"] is not None or r["ok"] is False:
                    print("| " + " | ".join(x.replace("|", "\\|") for x in cell(r)) + " |")
        print()


if __name__ == "__main__":
    main(sys.argv[1:])
