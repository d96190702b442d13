"""compute-sanitizer's memcheck over requests with CUDA shared memory."""

import shutil
import sys

from lib import KIT, STAND_IN, guarded, row, run, skip, time_left

tool = shutil.which("compute-sanitizer")
test = KIT / "tests" / "pkg_cuda.test"
if tool is None:
    skip("compute-sanitizer", "it is not installed")
    sys.exit()
with guarded("compute-sanitizer"):
    p = run(tool, "--tool", "memcheck", "--error-exitcode", "99", test, "-test.run", "^TestReal", timeout=max(time_left() - 2, 5), check=False)
    row("compute-sanitizer memcheck", ok=None if STAND_IN else p.returncode == 0, note=(p.stdout + p.stderr).strip()[-200:])
