#!/bin/sh
# Puts the pinned ONNX Runtime shared library into a folder: onnxruntime.sh DIR [OS ARCH]
# (OS and ARCH as in GOOS and GOARCH; default: this machine). The library comes out of the
# published Python wheel, whose hash pip checks; npm's package is the fallback without pip.
# A library that the system has already, or one named by TRITON_ONNXRUNTIME_LIBRARY, wins.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: onnxruntime.sh DIR [OS ARCH]}
os=${2:-$(go env GOOS)}
arch=${3:-$(go env GOARCH)}
cross=${2:+yes}
version=$(sed -n 's/^onnxruntime==\([0-9.]*\).*/\1/p' "$here/onnxruntime.txt")

say() { echo "onnxruntime: $*"; }
have() { ls "$1"/libonnxruntime.so* "$1"/libonnxruntime*.dylib 2>/dev/null | head -1; }

if found=$(have "$dir") && [ -n "$found" ]; then
  say "$found"; exit 0
fi
if [ -z "$cross" ]; then
  if [ -n "${TRITON_ONNXRUNTIME_LIBRARY:-}" ]; then
    [ -f "$TRITON_ONNXRUNTIME_LIBRARY" ] || { say "TRITON_ONNXRUNTIME_LIBRARY names no file: $TRITON_ONNXRUNTIME_LIBRARY" >&2; exit 1; }
    say "$TRITON_ONNXRUNTIME_LIBRARY (environment)"; exit 0
  fi
  for d in /usr/local/lib /usr/lib "/usr/lib/$(uname -m)-linux-gnu" /usr/lib64 /opt/onnxruntime/lib /opt/homebrew/lib; do
    if found=$(have "$d") && [ -n "$found" ]; then say "$found (system)"; exit 0; fi
  done
fi

case $os-$arch in
  linux-amd64)  platform=manylinux_2_28_x86_64;  node=linux/x64 ;;
  linux-arm64)  platform=manylinux_2_28_aarch64; node=linux/arm64 ;;
  darwin-arm64) platform=macosx_14_0_arm64;      node=darwin/arm64 ;;
  *) say "no published library for $os/$arch: build ONNX Runtime yourself and set TRITON_ONNXRUNTIME_LIBRARY" >&2; exit 1 ;;
esac

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/.get.XXXXXX")
trap 'rm -rf "$tmp"' EXIT INT TERM

from_pip() {
  py=${PYTHON:-python3}
  "$py" -m pip --version >/dev/null 2>&1 || return 1
  "$py" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
    --implementation cp --python-version 3.11 --platform "$platform" -d "$tmp" -r "$here/onnxruntime.txt" || return 1
  "$py" - "$tmp" "$dir" <<'PY'
import glob, os, sys, zipfile
src, dst = sys.argv[1:]
with zipfile.ZipFile(glob.glob(src + "/*.whl")[0]) as wheel:
    for name in wheel.namelist():
        base = os.path.basename(name)
        is_library = name.startswith("onnxruntime/capi/libonnxruntime.") and "providers" not in base
        if is_library or name in ("onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt"):
            base = base if is_library else "onnxruntime-" + base
            tmp = os.path.join(src, base)
            with wheel.open(name) as r, open(tmp, "wb") as w:
                w.write(r.read())
            os.chmod(tmp, 0o755 if is_library else 0o644)
            os.replace(tmp, os.path.join(dst, base))
PY
}

# npm checks its package against the integrity hash given here.
from_npm() {
  command -v npm >/dev/null 2>&1 || return 1
  package=onnxruntime-node@1.30.0
  (cd "$tmp" && npm pack --silent "$package" >/dev/null) || return 1
  got=$(openssl dgst -sha512 -binary "$tmp"/onnxruntime-node-*.tgz | openssl base64 -A)
  [ "sha512-$got" = "$npm_integrity" ] || { say "$package has another hash than pinned: sha512-$got" >&2; return 1; }
  tar -xzf "$tmp"/onnxruntime-node-*.tgz -C "$tmp"
  lib=$(ls "$tmp"/package/bin/napi-v*/"$node"/libonnxruntime.* | head -1)
  [ -n "$lib" ] || return 1
  cp "$lib" "$dir/"
}
npm_integrity=sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==

from_pip || from_npm || {
  say "could not get onnxruntime $version: install pip or npm, or set TRITON_ONNXRUNTIME_LIBRARY to a library you have" >&2
  exit 1
}
say "$(have "$dir")"
