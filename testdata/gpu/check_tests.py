"""The Go tests of the packages that call NVIDIA's libraries, here with the real ones."""

import os
import subprocess
import tempfile

from lib import KIT, OUT, STAND_IN, row, time_left

for test in sorted((KIT / "tests").glob("*.test")):
    with tempfile.TemporaryDirectory() as d, open(OUT / f"{test.stem}.txt", "w") as out:
        # Those that read files of the source tree cannot run here; these need none.
        p = subprocess.run([str(test), "-test.v", "-test.run", "^TestReal"], cwd=d, stdout=out, stderr=subprocess.STDOUT, timeout=max(time_left(), 1), env=os.environ)
    text = (OUT / f"{test.stem}.txt").read_text(errors="replace")
    passed, skipped = text.count("--- PASS"), text.count("--- SKIP")
    row(test.stem, passed, "passed", ok=p.returncode == 0 and (STAND_IN or passed > 0), note=f"{skipped} skipped" if skipped else "" if p.returncode == 0 else text.strip()[-200:])
