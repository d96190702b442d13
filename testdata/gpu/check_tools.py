"""triton perf with metrics of the GPU, and a quick search of triton analyze profile."""

import json

from lib import OUT, Server, add, config_of, expect, file_of, guarded, perf, repository, row, time_left, triton

with guarded("triton perf --collect-metrics"), repository() as models:
    add(models, "bert", config_of("bert", 8), file_of("bert"))
    with Server(models, "--disable-auto-complete-config") as s:
        level = perf(s, "bert", 4, 4, "grpc", more=("--collect-metrics", "--metrics-url", f"127.0.0.1:{s.metrics_port}/metrics", "--metrics-interval", "100"), interval=1000)
        gpus = level.get("gpus") or level.get("metrics")
        expect("triton perf reports the GPU's metrics", gpus, list(level))
        row("triton perf: metrics of the GPU", note=json.dumps(gpus)[:200])

with guarded("triton analyze profile"), repository() as models:
    add(models, "bert", config_of("bert", 8, more="dynamic_batching { }\n"), file_of("bert"))
    results = OUT / "profile"
    (results / "checkpoints").mkdir(parents=True, exist_ok=True)
    p = triton("analyze", "profile", "-m", models, "--profile-models", "bert", "--run-config-search-mode", "quick", "--run-config-search-max-instance-count", 2,
               "--run-config-search-max-model-batch-size", 4, "--run-config-search-max-concurrency", 4, "-d", 1, "-s", results / "checkpoints",
               "--output-model-repository-path", results / "out", "--override-output-model-repository", "-e", results,
               timeout=max(time_left() - 3, 10), check=False)  # fmt: skip
    (OUT / "profile.txt").write_text(p.stdout + p.stderr)
    row("triton analyze profile", ok=p.returncode == 0, note="" if p.returncode == 0 else f"exit code {p.returncode}: {(p.stderr or p.stdout).strip()[-200:]}")
