#!/usr/bin/env bash
# Runs the GPU programme: every check of what `triton` does on a GPU, within nine minutes.
#
#   run.sh DIR OUT [--stand-in] [--only CHECK,...] [--minutes N]
#
# DIR is the unpacked kit of `make gpu-kit` (kit.sh join). OUT gets report.json, a log of each check and
# the logs of the servers; a table is printed last. The exit code is 0 if every bar was met.
# With --stand-in no GPU is needed: models run on the processor, NVIDIA's libraries are stand-ins, models
# are small, and bars of speed and memory are not judged. It shows that the checks themselves work.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 2,11p "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
dir=$(cd "$1" && pwd)
mkdir -p "$2"
[ ! -f "$dir/env.sh" ] || . "$dir/env.sh"
exec "${PYTHON:-python3}" "$here/programme.py" "$dir" "$(cd "$2" && pwd)" "${@:3}"
