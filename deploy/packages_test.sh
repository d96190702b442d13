#!/bin/sh
# Installs, starts, asks, upgrades and removes what packages.sh built: packages_test.sh DIST. Each image's file system is
# run too. Everything happens below a temporary folder; root is needed for chroot (or user namespaces: unshare -r).
set -eu
dist=$(cd "${1:?usage: packages_test.sh DIST}" && pwd)
cd "$(dirname "$0")/.."
arch=$(go env GOARCH)
[ -f "$dist/triton_$arch.deb" ] || { echo "packages-test: no packages in $dist: run make packages first" >&2; exit 1; }
if [ "$(id -u)" != 0 ]; then
	unshare -r true 2>/dev/null || { echo "packages-test: skipped: neither root nor user namespaces here" >&2; exit 0; }
	exec unshare -r "$0" "$dist"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/triton-packages.XXXXXX")
server=
cleanup() {
	[ -z "$server" ] || { kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
	rm -rf "$work"
}
trap cleanup EXIT
say() { echo "packages-test: $*"; }
fail() { echo "packages-test: $*" >&2; [ ! -f "$work/log" ] || tail -20 "$work/log" >&2; exit 1; }
go build -o "$work/probe" ./deploy/probe

# start COMMAND...: starts a server on a port that the system chooses, reads the port from its log and asks the model.
start() {
	"$@" --http-address=127.0.0.1 --http-port=0 --allow-grpc=false --allow-metrics=false --model-repository=/models >"$work/log" 2>&1 &
	server=$!
	n=0
	until address=$(sed -n 's/.*Started HTTPService at \([0-9.:]*\).*/\1/p' "$work/log") && [ -n "$address" ]; do
		n=$((n + 1))
		kill -0 $server 2>/dev/null || fail "the server ended"
		[ $n -lt 600 ] || fail "the server did not start within a minute"
		sleep 0.1
	done
	"$work/probe" "$address" "$model" || fail "no answer to an inference request"
	kill -TERM $server
	wait $server || fail "the server ended with an error"
	server=
}
identity() { # FOLDER: a model of a backend in the program
	mkdir -p "$1/models/id/1"
	printf 'backend: "identity"\ninput { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }\noutput { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }\n' >"$1/models/id/config.pbtxt"
}
python_model() { # FOLDER
	mkdir -p "$1/models/id/1"
	printf 'backend: "python"\ninput { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }\noutput { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }\ninstance_group { kind: KIND_CPU }\n' >"$1/models/id/config.pbtxt"
	cat >"$1/models/id/1/model.py" <<'PY'
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array(pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy()))]) for r in requests]
PY
}
machine() { # FOLDER: what a small machine has: a shell and the C library
	mkdir -p "$1/tmp" "$1/etc" "$1/dev/shm" "$1/proc"
	for p in libc6 libstdc++6 libgcc-s1 dash coreutils libacl1 libattr1 libselinux1 libpcre2-8-0 libgmp10 libssl3; do
		ls "$work/debs/${p}"_*.deb >/dev/null 2>&1 || (mkdir -p "$work/debs" && cd "$work/debs" && timeout 120 apt-get download -qq "$p")
		dpkg -x "$work/debs/${p}"_*.deb "$1"
	done
	ln -sf dash "$1/bin/sh"
}
model=id

say "deb"
root=$work/deb
machine "$root"
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
: >"$root/var/lib/dpkg/status"
# What it depends on was unpacked, not installed.
install() { dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null -i "$1" >"$work/dpkg" 2>&1 || { cat "$work/dpkg" >&2; exit 1; }; }
install "$dist/triton_$arch.deb"
identity "$root"
start chroot "$root" /usr/bin/tritonserver
chroot "$root" /usr/bin/triton --version
echo "# a change of the administrator" >>"$root/etc/triton/triton.yaml"
# An upgrade: the same package with a higher version.
dpkg-deb -R "$dist/triton_$arch.deb" "$work/newer"
sed -i 's/^Version: \(.*\)/Version: \1+1/' "$work/newer/DEBIAN/control"
dpkg-deb -Znone -b "$work/newer" "$work/newer.deb" >/dev/null
install "$work/newer.deb"
grep -q "a change of the administrator" "$root/etc/triton/triton.yaml" || fail "the upgrade replaced a changed configuration"
start chroot "$root" /usr/bin/tritonserver
dpkg --root="$root" --force-script-chrootless --log=/dev/null -r triton >"$work/dpkg" 2>&1 || { cat "$work/dpkg" >&2; exit 1; }
[ ! -e "$root/usr/bin/triton" ] && [ ! -e "$root/usr/lib/triton/bin" ] || fail "the package left its programs"
[ -e "$root/etc/triton/triton.yaml" ] || fail "the removal took the configuration"
dpkg --root="$root" --force-script-chrootless --log=/dev/null -P triton >/dev/null 2>&1
[ ! -e "$root/etc/triton/triton.yaml" ] || fail "the purge left the configuration"

say "rpm"
# Without an rpm of this machine Debian's is unpacked.
if ! command -v rpm >/dev/null && command -v apt-get >/dev/null; then
	mkdir -p "$work/tools"
	(cd "$work/tools" && timeout 120 apt-get download -qq rpm rpm-common librpm9 librpmio9 librpmbuild9 librpmsign9 liblua5.3-0 libpopt0 && for d in *.deb; do dpkg -x "$d" .; done) || true
	if [ -x "$work/tools/usr/bin/rpm" ]; then
		rpm() { LD_LIBRARY_PATH=$(ls -d "$work"/tools/usr/lib/*-linux-gnu) "$work/tools/usr/bin/rpm" --rcfile "$work/tools/usr/lib/rpm/rpmrc" --dbpath /var/lib/rpm "$@"; }
	fi
fi
if command -v rpm >/dev/null; then
	root=$work/rpm
	machine "$root"
	mkdir -p "$root/var/lib/rpm" # rpm makes its database there
	rpm --root "$root" --nodeps --nosignature --noscripts -i "$dist/triton_$arch.rpm"
	identity "$root"
	start chroot "$root" /usr/bin/tritonserver
	rpm --root "$root" --nodeps --nosignature --noscripts -U --replacepkgs "$dist/triton_$arch.rpm"
	start chroot "$root" /usr/bin/tritonserver
	rpm --root "$root" --noscripts -e triton
	[ ! -e "$root/usr/bin/triton" ] || fail "the package left its programs"
else
	say "the rpm is not installed: no rpm here (apt-get install rpm)"
fi

for file in "$dist"/triton-*.oci.tar; do
	variant=$(basename "$file" .oci.tar)
	say "image $variant"
	root=$work/$variant
	mkdir -p "$root"
	go run ./deploy/image -unpack "$root" "$file" "linux/$arch"
	[ ! -e "$root/bin/sh" ] && [ ! -e "$root/usr/bin/sh" ] || fail "the image has a shell"
	mkdir -p "$root/dev/shm" "$root/proc"
	case $variant in
	*python)
		python_model "$root"
		start chroot --userspec=65532:65532 "$root" /opt/tritonserver/bin/triton tritonserver ;;
	*)
		identity "$root"
		start chroot --userspec=65532:65532 "$root" /opt/tritonserver/bin/triton tritonserver ;;
	esac
	case $variant in *bare) ;; *) grep -q "models for ONNX Runtime will not be served" "$work/log" && fail "ONNX Runtime does not load" || true ;; esac
done
say "everything ran"
