"""Drives a running server with NVIDIA's Python client: interop.py HTTP-ADDRESS GRPC-ADDRESS MODELS [WORD].

The server serves MODELS, the repository that `triton repo example` writes, with
--model-control-mode=explicit, --load-model=*, --allow-client-shm=true and
--cache-config=local,size=1048576. Every check prints one line; the exit code is the number of failures. With a word, only checks
with it in their names run.
"""

import sys
import traceback

import harness
import metadata  # noqa: F401  (each module registers its checks)
import inference  # noqa: F401
import datatypes  # noqa: F401
import refusals  # noqa: F401
import parameters  # noqa: F401
import concurrency  # noqa: F401
import asyncio_clients  # noqa: F401
import streaming  # noqa: F401
import cancellation  # noqa: F401
import sharedmemory  # noqa: F401
import control  # noqa: F401
import settings  # noqa: F401
import generate  # noqa: F401
import schedulers  # noqa: F401


def main():
    count = {"ok": 0, "FAIL": 0, "skip": 0}
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    for name, run in harness.checks:
        if word not in name:
            continue
        result, why = "ok", ""
        try:
            run()
        except harness.Skip as e:
            result, why = "skip", f": {e}"
        except Exception:
            result, why = "FAIL", "\n" + traceback.format_exc()
        count[result] += 1
        print(f"{result:<5} {name}{why}", flush=True)
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return min(count["FAIL"], 100)


if __name__ == "__main__":
    sys.exit(main())
