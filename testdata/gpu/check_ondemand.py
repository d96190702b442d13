"""Models on demand in a budget of GPU memory, models in processes of their own, a killed one."""

import os
import pathlib
import signal
import threading
import time

from lib import STAND_IN, Server, add, bar, config_of, expect, file_of, gpu_memory, guarded, input_of, repository, row, smi

MODELS = 10


def parent(process):
    try:
        return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


with guarded("on demand"), repository() as models:
    for i in range(MODELS):
        add(models, f"m{i}", config_of("bert", 8), file_of("bert"))
    budget = "cpu=64MiB" if STAND_IN else "gpu:0=3GiB"
    with Server(models, "--model-control-mode", "auto", "--memory-budget", budget, "--disable-auto-complete-config") as s:
        x, failed, count, stop = {"input": input_of("bert", 2)}, [], [0], time.time() + (3 if STAND_IN else 15)
        highest = 0

        def ask(start):
            i = start
            while time.time() < stop:
                try:
                    s.infer(f"m{i % MODELS}", x)
                    count[0] += 1
                except (RuntimeError, OSError) as e:
                    failed.append(str(e))
                i += 1

        callers = [threading.Thread(target=ask, args=(3 * i,)) for i in range(3)]
        for c in callers:
            c.start()
        while time.time() < stop:
            highest = max(highest, gpu_memory(s.process.pid))
            time.sleep(0.3)
        for c in callers:
            c.join()
        row("on demand: requests to ten models", count[0], "", ok=count[0] > 0 and not failed, note=f"{len(failed)} failed: {failed[0][:150]}" if failed else "")
        bar("on demand: highest memory in use", highest >> 20, "MiB", "the budget of 3072 and 1024 for contexts at most", highest <= 4 << 30)

with guarded("isolation"), repository() as models:
    add(models, "bert", config_of("bert", 8), file_of("bert"))
    with Server(models, "--isolation", "process", "--disable-auto-complete-config") as s:
        x = {"input": input_of("bert", 2)}
        s.infer("bert", x)
        before = gpu_memory(s.process.pid)
        children = [int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if parent(p) == s.process.pid]
        expect("the model runs in a process", children, "the server has no children")
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        killed, gone = time.time(), None
        while gone is None and time.time() < killed + 10:
            held = [] if STAND_IN else [p for p, _ in smi("--query-compute-apps=pid,used_memory") if int(p) in children]
            if not held and not any(pathlib.Path(f"/proc/{pid}").exists() for pid in children):
                gone = time.time() - killed
            time.sleep(0.02)
        bar("a killed model's process and memory are gone after", gone if gone is not None else 10.0, "s", "2 at most", gone is not None and gone <= 2)
        answered, end = False, time.time() + 20
        while not answered and time.time() < end:
            try:
                s.infer("bert", x)
                answered = True
            except (RuntimeError, OSError):
                time.sleep(0.05)
        expect("the model answers again", answered, s.tail())
        after = gpu_memory(s.process.pid)
        bar("memory after the restart", after >> 20, "MiB", f"{before >> 20} and 2 % at most", after <= before * 1.02)
