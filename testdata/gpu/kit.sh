#!/usr/bin/env bash
# Packs what the GPU programme needs on a machine without Go, network or ONNX Runtime.
#
#   kit.sh pack OUT      builds and packs OUT/part-00, part-01, ... (each at most PART_MB, default 34 MiB) and OUT/SHA256
#   kit.sh join IN DIR   checks, unpacks and prepares DIR, which run.sh takes
#   kit.sh stand-in DIR  prepares DIR for run.sh --stand-in on this machine
#
# In the kit: bin/triton, ONNX Runtime for CUDA 13 and a Python client from their published wheels (requirements.txt
# has the hashes), the session without a server (bare), tests of the packages that call NVIDIA's libraries, the
# programme. CUDA, cuDNN, cuBLAS and cuFFT come from the GPU machine's own Python packages (nvidia/*/lib).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage() { sed -n 2,11p "$0" >&2; exit 2; }

# assemble fills a folder with what is built here.
assemble() {
  local kit=$1
  cd "$here/../.."
  mkdir -p "$kit"/{bin,lib,tests,gpu}
  cp "${TRITON:-bin/triton}" "$kit/bin/triton"
  cc -O2 -Wall -I"$(go list -m -f '{{.Dir}}' github.com/yalue/onnxruntime_go)" -o "$kit/bin/bare" "$here/bare.c" -ldl -lpthread
  for p in pkg/cuda pkg/gpu/nvml server/backend/onnx; do
    go test -c -ldflags=-w -trimpath -o "$kit/tests/${p//\//_}.test" "./$p"
  done
  cp "$here"/*.py "$here"/run.sh "$kit/gpu/"
}

case ${1:-} in
pack)
  [ $# = 2 ] || usage
  mkdir -p "$2"
  out=$(cd "$2" && pwd)
  work=$(mktemp -d "$out/.pack.XXXXXX")
  trap 'rm -rf "$work"' EXIT INT TERM
  kit=$work/kit
  assemble "$kit"
  mkdir -p "$kit/wheels"
  "${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
    --python-version 3.12 --implementation cp --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform manylinux1_x86_64 \
    -d "$kit/wheels" -r "$here/requirements.txt"
  unzip -q -j -d "$kit/lib" "$kit"/wheels/onnxruntime_gpu-*.whl 'onnxruntime/capi/libonnxruntime*' onnxruntime/LICENSE
  rm -f "$kit"/wheels/onnxruntime_gpu-*.whl "$kit"/lib/libonnxruntime_providers_tensorrt.so # its own libraries are too large to carry
  (cd "$kit" && find . -type f ! -name SHA256 -exec sha256sum {} + >SHA256)
  rm -f "$out"/part-* "$out/SHA256"
  tar -C "$kit" --sort=name -cf - . | xz -T0 -"${XZ:-6}" | split -d -b "${PART_MB:-34}m" - "$out/part-"
  (cd "$out" && sha256sum part-* >SHA256 && ls -l part-*)
  ;;
join)
  [ $# = 3 ] || usage
  (cd "$2" && sha256sum --quiet -c SHA256)
  mkdir -p "$3"
  dir=$(cd "$3" && pwd)
  cat "$2"/part-* | tar -C "$dir" -xJf -
  (cd "$dir" && sha256sum --quiet -c SHA256)
  libraries=$(python3 - <<'PY'
import glob, os, sysconfig
found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "**", "lib*.so*"), recursive=True)
print(":".join(sorted({os.path.dirname(f) for f in found})))
PY
)
  [ -n "$libraries" ] || echo "kit.sh: no NVIDIA libraries among the Python packages: ONNX Runtime needs CUDA 13 and cuDNN 9 on LD_LIBRARY_PATH" >&2
  python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$dir/site" "$dir"/wheels/*.whl
  cat >"$dir/env.sh" <<E2
export LD_LIBRARY_PATH="$dir/lib:$libraries:\${LD_LIBRARY_PATH:-}"
export PYTHONPATH="$dir/site:\${PYTHONPATH:-}"
export TRITON_ONNXRUNTIME_LIBRARY="$(ls "$dir"/lib/libonnxruntime.so.*)"
E2
  echo "run: $dir/gpu/run.sh $dir OUT"
  ;;
stand-in)
  [ $# = 2 ] || usage
  mkdir -p "$2"
  dir=$(cd "$2" && pwd)
  assemble "$dir"
  "$here/standin/build.sh" "$dir/lib"
  cat >"$dir/env.sh" <<E2
export LD_LIBRARY_PATH="$dir/lib:\${LD_LIBRARY_PATH:-}" PATH="$dir/lib:\$PATH"
export TRITON_ONNXRUNTIME_LIBRARY="$(ls "$PWD"/lib/libonnxruntime.so.* | head -1)"
E2
  ;;
*) usage ;;
esac
