"""NVML through the program beside nvidia-smi."""

import json
import time

from lib import STAND_IN, Server, bar, examples, expect, guarded, row, smi, triton

gpus = smi("--query-gpu=name,uuid,memory.total,memory.used,utilization.gpu,power.draw,driver_version")
seen = json.loads(triton("analyze", "devices", "--output", "json").stdout)
row("GPUs", len(gpus))
expect("all GPUs are listed", len(seen["gpus"]) == len(gpus), seen.get("reason"))
expect("driver", seen.get("driver") == gpus[0][6], f"{seen.get('driver')} for {gpus[0][6]}")
for i, (mine, (name, uuid, total, used, _, power, _)) in enumerate(zip(seen["gpus"], gpus)):
    expect(f"GPU {i}: name", mine["name"] == name, f"{mine['name']} for {name}")
    expect(f"GPU {i}: UUID", mine["uuid"] == uuid, f"{mine['uuid']} for {uuid}")
    r = mine["reading"]
    # nvidia-smi rounds to MiB, and reads at another moment.
    bar(f"GPU {i}: memory", r["memory_total"] >> 20, "MiB", f"nvidia-smi's {total}", abs((r["memory_total"] >> 20) - int(total)) <= 1)
    bar(f"GPU {i}: memory in use", r["memory_used"] >> 20, "MiB", f"nvidia-smi's {used}, 64 off at most", abs((r["memory_used"] >> 20) - int(used)) <= 64)
    bar(f"GPU {i}: power", r["power"], "W", f"nvidia-smi's {power}, 20 off at most", abs(r["power"] - float(power)) <= 20)
    works = {s["name"]: s for s in mine["sources"]}
    for s in ("processes", "device memory", "utilization", "power", "energy"):
        expect(f"GPU {i}: {s}", works.get(s, {}).get("works"), works.get(s))

with guarded("metrics of a server"), Server(examples("simple")) as s:
    end = time.time() + 10
    while time.time() < end and not any(k.startswith("nv_gpu_utilization") for k in s.metrics()):
        time.sleep(0.1)
    m = s.metrics()
    for family in ("nv_gpu_utilization", "nv_gpu_memory_total_bytes", "nv_gpu_memory_used_bytes", "nv_gpu_power_usage", "nv_gpu_power_limit", "nv_energy_consumption"):
        found = [k for k in m if k.startswith(family + "{")]
        expect(f"{family} for each GPU", len(found) == len(gpus) and all(any(u[1] in k for u in gpus) for k in found), found)
    total = m.get('nv_gpu_memory_total_bytes{gpu_uuid="%s"}' % gpus[0][1], 0)
    expect("nv_gpu_memory_total_bytes is nvidia-smi's", abs(total / (1 << 20) - int(gpus[0][2])) <= 1, total)

found = json.loads(triton("doctor", "--gpu", "--output", "json", check=False).stdout)["findings"]
about = {f["check"]: f for f in found}
expect("triton doctor finds the GPUs", about.get("GPUs", {}).get("state") == "ok", about.get("GPUs"))
for i in range(len(gpus)):
    expect(f"triton doctor --gpu: memory of GPU {i}", about.get(f"memory of GPU {i}", {}).get("state") == "ok", about.get(f"memory of GPU {i}"))
    f = about.get(f"ONNX Runtime on GPU {i}", {})
    row(f"triton doctor --gpu: ONNX Runtime on GPU {i}", ok=None if STAND_IN else f.get("state") == "ok", note=f"{f.get('found')} {f.get('advice', '')}"[:200])
