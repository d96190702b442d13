#!/usr/bin/env bash
# Installs NVIDIA's Triton Inference Server 2.51.0 (CPU use) and perf_analyzer
# side by side in one folder, from their published Python wheels, so that
# ours can be compared with them.
#
#   setup.sh DEST
#
# Result (all relative to DEST; the folder may be moved except for the virtual environments):
#   bin/tritonserver     starts the server (backend, cache and library paths set, loopback only)
#   bin/perf_analyzer    load generator (tritonclient 2.50.0)
#   bin/python           Python with tritonclient, numpy, onnx, onnxruntime
#   tritonserver/        binary, libraries, backends/python, caches/local
#   venv/                virtual environment behind bin/python; the python backend uses it
#
# Safe to run again: finished steps are skipped. Needs linux x86_64, glibc >= 2.35,
# Python 3.11 or 3.12 with venv, pip with a working package index, about 0.6 GB of disk.
# PYTHON=<interpreter> chooses another Python than python3.
set -euo pipefail

PYTRITON=0.7.0          # holds tritonserver 2.51.0
PERF_CLIENT=2.50.0      # last wheel series that holds the perf_analyzer binary
CLIENT=2.60.0           # Python client
ORT=1.31.1
ONNX=1.22.0
NUMPY=1.26.4            # the python backend's stub returns empty tensors with numpy 2

fail() { echo "setup.sh: $*" >&2; exit 1; }
note() { echo "setup.sh: $*" >&2; }

dest=
for a in "$@"; do
  case $a in
    -h | --help) sed -n '2,19p' "$0"; exit 0 ;;
    -*) fail "unknown option $a" ;;
    *) [[ -z $dest ]] || fail "one DEST only"; dest=$a ;;
  esac
done
[[ -n $dest ]] || fail "usage: setup.sh DEST"

[[ $(uname -s)-$(uname -m) == Linux-x86_64 ]] || fail "needs linux x86_64, this is $(uname -s) $(uname -m)"
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{print $2}')
[[ -n $glibc ]] || fail "needs glibc (the binaries do not run with another C library)"
[[ $(printf '2.35\n%s\n' "$glibc" | sort -V | head -1) == 2.35 ]] || fail "needs glibc >= 2.35, this is $glibc"
PYTHON=${PYTHON:-python3}
command -v "$PYTHON" >/dev/null || fail "no $PYTHON on PATH; set PYTHON=<interpreter>"
pyver=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case $pyver in
  3.11 | 3.12) ;;
  *) fail "needs Python 3.11 or 3.12 (python backend stub and numpy 1.26), this is $pyver; set PYTHON=<interpreter>" ;;
esac
"$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
  fail "Python $pyver has no venv module (Debian/Ubuntu: install python$pyver-venv)"

mkdir -p "$dest"
dest=$(cd "$dest" && pwd)
mkdir -p "$dest"/{bin,lib,wheels}
log=$dest/setup.log
: >"$log"
quiet() { "$@" >>"$log" 2>&1; }

# --- virtual environment ------------------------------------------------------
stamp="$pyver tritonclient-$CLIENT onnxruntime-$ORT onnx-$ONNX numpy-$NUMPY"
if [[ $(cat "$dest/venv/.stamp" 2>/dev/null) != "$stamp" || ! -x $dest/venv/bin/python ]]; then
  note "creating virtual environment (Python $pyver)"
  rm -rf "$dest/venv"
  quiet "$PYTHON" -m venv "$dest/venv" || fail "cannot create a virtual environment, see $log"
  quiet "$dest/venv/bin/pip" install --disable-pip-version-check \
    "tritonclient[all]==$CLIENT" "onnxruntime==$ORT" "onnx==$ONNX" "numpy==$NUMPY" ||
    fail "pip could not install tritonclient, onnxruntime, onnx and numpy, see $log"
  echo "$stamp" >"$dest/venv/.stamp"
fi
pip=("$dest/venv/bin/pip" --disable-pip-version-check)
cat >"$dest/bin/python" <<'W'
#!/bin/sh
d=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$d/venv/bin/python" "$@"
W
chmod +x "$dest/bin/python"

wheel() { # NAME VERSION GLOB PIP-ARGS...: prints the wheel's path
  local f
  f=$(compgen -G "$dest/wheels/$3" | head -1 || true)
  if [[ -z $f ]]; then
    note "downloading $1 $2"
    quiet "${pip[@]}" download --no-deps --only-binary=:all: -d "$dest/wheels" "${@:4}" "$1==$2" ||
      fail "pip could not download $1 $2, see $log"
    f=$(compgen -G "$dest/wheels/$3" | head -1 || true)
    [[ -n $f ]] || fail "pip reported success but there is no $3 in $dest/wheels"
  fi
  echo "$f"
}
unzip_to() { "$dest/venv/bin/python" -m zipfile -e "$1" "$2" || fail "cannot unpack $1"; }

# --- server ---------------------------------------------------------------------
stamp="$PYTRITON $pyver"
if [[ $(cat "$dest/tritonserver/.stamp" 2>/dev/null) != "$stamp" ]]; then
  w=$(wheel nvidia-pytriton $PYTRITON "nvidia_pytriton-$PYTRITON-*x86_64.whl" --platform manylinux_2_35_x86_64)
  t=$dest/.unpack
  rm -rf "$t"
  unzip_to "$w" "$t"
  s=$t/pytriton/tritonserver
  [[ -f $s/bin/tritonserver ]] || fail "$w holds no tritonserver binary"
  mkdir -p "$dest/tritonserver"/{bin,lib,backends/python,caches/local}
  cp -f "$s/bin/tritonserver" "$dest/tritonserver/bin/"
  cp -f "$t"/nvidia_pytriton.libs/* "$dest/tritonserver/lib/"
  cp -rf "$s"/backends/python/. "$dest/tritonserver/backends/python/"
  cp -rf "$s"/caches/local/. "$dest/tritonserver/caches/local/"
  stub=$s/python_backend_stubs/$pyver/triton_python_backend_stub
  [[ -f $stub ]] || fail "the wheel holds no python backend stub for Python $pyver"
  cp -f "$stub" "$dest/tritonserver/backends/python/"
  chmod +x "$dest/tritonserver/bin/tritonserver" "$dest/tritonserver/backends/python/triton_python_backend_stub"
  rm -rf "$t"
  echo "$stamp" >"$dest/tritonserver/.stamp"
fi
cat >"$dest/bin/tritonserver" <<'W'
#!/bin/sh
# Real server. Binds loopback and finds its backends and caches unless flags override it
# (a later flag of the same name wins). Logs go to stderr.
d=$(dirname "$(dirname "$(readlink -f "$0")")")
export LD_LIBRARY_PATH="$d/tritonserver/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PATH="$d/venv/bin:$PATH"
exec "$d/tritonserver/bin/tritonserver" \
  --backend-directory="$d/tritonserver/backends" --cache-directory="$d/tritonserver/caches" \
  --http-address=127.0.0.1 --grpc-address=127.0.0.1 --metrics-address=127.0.0.1 "$@"
W
chmod +x "$dest/bin/tritonserver"

# --- perf_analyzer ----------------------------------------------------------------
if [[ $(cat "$dest/lib/.perf_analyzer" 2>/dev/null) != "$PERF_CLIENT" ]]; then
  w=$(wheel tritonclient $PERF_CLIENT "tritonclient-$PERF_CLIENT-*manylinux1_x86_64.whl" --platform manylinux1_x86_64)
  t=$dest/.unpack
  rm -rf "$t"
  unzip_to "$w" "$t"
  b=$t/tritonclient-$PERF_CLIENT.data/data/bin/perf_analyzer
  [[ -f $b ]] || fail "$w holds no perf_analyzer binary"
  cp -f "$b" "$dest/lib/perf_analyzer"
  chmod +x "$dest/lib/perf_analyzer"
  rm -rf "$t"
  # The binary wants two libraries by their plain names; the server's wheel carries both.
  # Only these two: the rest of that folder must not be on its library path.
  for p in libcudart:libcudart.so.12 libb64:libb64.so.0d; do
    f=$(cd "$dest/tritonserver/lib" && compgen -G "${p%%:*}-*" | head -1 || true)
    [[ -n $f ]] || fail "no ${p%%:*} among the server's libraries"
    ln -sfn "../tritonserver/lib/$f" "$dest/lib/${p##*:}"
  done
  echo "$PERF_CLIENT" >"$dest/lib/.perf_analyzer"
fi
cat >"$dest/bin/perf_analyzer" <<'W'
#!/bin/sh
d=$(dirname "$(dirname "$(readlink -f "$0")")")
export LD_LIBRARY_PATH="$d/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$d/lib/perf_analyzer" "$@"
W
chmod +x "$dest/bin/perf_analyzer"
missing=$(LD_LIBRARY_PATH="$dest/lib" ldd "$dest/lib/perf_analyzer" | awk '/not found/ {print $1}' | paste -sd' ')
[[ -z $missing ]] || fail "perf_analyzer misses shared libraries: $missing (Debian/Ubuntu: libssl3, zlib1g, libb64-0d)"

# --- self-check: load a python model, infer over HTTP and gRPC -----------------------------
note "checking"
r=$dest/.check
rm -rf "$r"
mkdir -p "$r/repo/echo/1"
cat >"$r/repo/echo/config.pbtxt" <<'W'
backend: "python"
max_batch_size: 0
input [{ name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }]
output [{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }]
W
cat >"$r/repo/echo/1/model.py" <<'W'
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([
                pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(q, "INPUT0").as_numpy())
            ])
            for q in requests
        ]
W
read -r hp gp mp < <("$dest/bin/python" - <<'W'
import socket
s = [socket.socket() for _ in range(3)]
for x in s:
    x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])
W
)
"$dest/bin/tritonserver" --model-repository="$r/repo" --http-port="$hp" --grpc-port="$gp" \
  --metrics-port="$mp" --allow-gpu-metrics=false >"$r/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
"$dest/bin/python" - "$hp" "$gp" <<'W' || fail "self-check failed, server log: $r/server.log"
import sys, time
import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

http = httpclient.InferenceServerClient("127.0.0.1:" + sys.argv[1])
for _ in range(300):
    try:
        if http.is_server_ready():
            break
    except Exception:
        pass
    time.sleep(0.1)
else:
    sys.exit("server not ready after 30 s")
x = np.arange(5, dtype=np.float32)
for mod, client in ((httpclient, http), (grpcclient, grpcclient.InferenceServerClient("127.0.0.1:" + sys.argv[2]))):
    i = mod.InferInput("INPUT0", [5], "FP32")
    i.set_data_from_numpy(x)
    y = client.infer("echo", [i]).as_numpy("OUTPUT0")
    assert (x == y).all(), (x, y)
print("setup.sh: server", http.get_server_metadata()["version"], "responds over HTTP and gRPC")
W
timeout 60 "$dest/bin/perf_analyzer" -m echo -u "127.0.0.1:$hp" --shape INPUT0:4 \
  --measurement-mode count_windows --measurement-request-count 50 -s 999 -r 3 >"$r/perf.log" 2>&1 ||
  fail "perf_analyzer could not measure the server, see $r/perf.log"
kill "$server"
wait "$server" 2>/dev/null || true
trap - EXIT
rm -rf "$r"
note "done: $dest/bin"
