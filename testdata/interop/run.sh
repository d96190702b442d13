#!/usr/bin/env bash
# Drives our server with clients as their registries publish them: run.sh [SECTION...]
#
# Sections: python grpcurl curl node java perf tls web. All by default. Needs bin/triton (or TRITON) and
# the ONNX Runtime in lib/. What it downloads and builds goes to build/interop. One line
# per check, then the counts; the exit code is 0 if all passed. Where a tool is
# missing its section is skipped, with a line about it.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
here=$root/testdata/interop
built=$root/build/interop
triton=${TRITON:-$root/bin/triton}
ort=$(ls "$root"/lib/libonnxruntime*.so* 2>/dev/null | head -1)
PYTHON=${PYTHON:-python3}
[[ -x $triton && -n $ort ]] || { echo "run make build onnxruntime first"; exit 1; }

mkdir -p "$built"
work=$(mktemp -d "$built/run.XXXXXX")
models=$work/models
# shellcheck source=checks.sh
. "$here/checks.sh"
# shellcheck source=server.sh
. "$here/server.sh"
trap 'stop_all; rm -rf "$work"' EXIT

"$triton" repo example "$models" >/dev/null || exit 1
serve main --load-model='*' --allow-client-shm=true --cache-config=local,size=1048576 --trace-config=triton,file="$work/trace.json" \
  --http-header-forward-pattern='x-.*' --metrics-config=histogram_latencies=true

for section in "${@:-python}" $([[ $# -gt 0 ]] || echo grpcurl curl node java perf tls web); do
  # shellcheck disable=SC1090
  . "$here/$section.sh"
done

section=server
stop && ok "ends with exit code 0" || bad "ends with exit code 0" "$(tail -20 "$work/main.log")"
if grep -E 'panic|goroutine [0-9]+ \[' "$work"/*.log >"$work/panics"; then bad "no panic in the log" "$(cat "$work/panics")"; else ok "no panic in the log"; fi
echo "interop: $passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
