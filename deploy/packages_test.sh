#!/bin/sh
# Installs, starts, asks, upgrades and removes what packages.sh built: packages_test.sh DIST. Each image's file system is
# run too: as its user, read-only. Package managers and servers run under a chroot in a temporary folder, with the small
# machine that is unpacked there; nothing is installed on this one. Changing the root and the user needs root, or a user
# namespace with the ids of /etc/subuid.
#   NFPM  makes the upgrade; default: build/tools/nfpm
set -eu
fail() { echo "packages-test: $*" >&2; [ ! -s "${work:-}/log" ] || tail -20 "$work/log" >&2; exit 1; }
say() { echo "packages-test: $*"; }
dist=$(cd "${1:?usage: packages_test.sh DIST}" && pwd)
cd "$(dirname "$0")/.."
nfpm=${NFPM:-build/tools/nfpm}
arch=$(go env GOARCH)
for p in apt-get dpkg unshare chroot "$nfpm"; do command -v "$p" >/dev/null || fail "$p is missing"; done
for f in "triton_$arch.deb" "triton_$arch.rpm" triton-bare.oci.tar; do [ -f "$dist/$f" ] || fail "$dist has no $f: run make packages first"; done
if [ "$(id -u)" != 0 ]; then
	unshare --map-root-user --map-auto true 2>/dev/null ||
		fail "this needs root, or newuidmap and a line for $(id -un) in /etc/subuid and /etc/subgid"
	exec unshare --map-root-user --map-auto "deploy/$(basename "$0")" "$dist"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/triton-packages.XXXXXX")
chmod 0755 "$work" # the servers run as other users
server=
cleanup() {
	[ -z "$server" ] || { kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
state() { ls -d /usr/lib/triton /etc/triton /var/lib/triton /usr/bin/triton /var/lib/rpm 2>/dev/null || true; cat /etc/passwd /etc/group /var/lib/dpkg/status; }
state >"$work/state"
go build -o "$work/probe" ./deploy/probe
go build -o "$work/image" ./deploy/image

# inside ROOT MODE OPTION... PROGRAM...: runs a program under a chroot, in a mount namespace of its own, with /dev and
# /proc. MODE ro: the file system is read-only but for /tmp. Options are those of chroot.
inside() { (become "$@"); }
become() { # the program takes the place of this shell, and so its process id
	# shellcheck disable=SC2016 # the inner shell reads the variables
	exec unshare --mount sh -euc 'root=$1 mode=$2
		shift 2
		mount --bind "$root" "$root"
		mount --rbind /dev "$root/dev"
		mount --rbind /proc "$root/proc"
		if [ "$mode" = ro ]; then
			mount -t tmpfs tmpfs "$root/tmp"
			mount -o remount,bind,ro "$root"
			if touch "$root/models/written" 2>/dev/null; then echo "the file system is not read-only" >&2; exit 1; fi
		fi
		cd "$root"
		exec env -i PATH=/opt/tritonserver/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$@"' sh "$@"
}
# start UID ROOT MODE OPTION... PROGRAM...: starts a server on a port that the system chooses, reads the port from its
# log and asks the model. UID is the user that it must have.
start() {
	uid=$1
	shift
	become "$@" --http-address=127.0.0.1 --http-port=0 --allow-grpc=false --allow-metrics=false --model-repository=/models >"$work/log" 2>&1 &
	server=$!
	n=0
	until address=$(sed -n 's/.*Started HTTPService at \([0-9.:]*\).*/\1/p' "$work/log") && [ -n "$address" ]; do
		n=$((n + 1))
		kill -0 $server 2>/dev/null || fail "the server ended"
		[ $n -lt 600 ] || fail "the server did not start within a minute"
		sleep 0.1
	done
	[ "$(stat -c %u "/proc/$server")" = "$uid" ] || fail "the server runs as user $(stat -c %u "/proc/$server"), not $uid"
	"$work/probe" "$address" id || fail "no answer to an inference request"
	kill -TERM $server
	wait $server || fail "the server ended with an error"
	server=
}
model() { # FOLDER BACKEND: a model that returns what it gets
	mkdir -p "$1/models/id/1"
	cat >"$1/models/id/config.pbtxt" <<-CONFIG
		backend: "$2"
		input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
		output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
		instance_group { kind: KIND_CPU }
	CONFIG
	[ "$2" = python ] || return 0
	cat >"$1/models/id/1/model.py" <<-'PY'
		import numpy as np
		import triton_python_backend_utils as pb_utils


		class TritonPythonModel:
		    def execute(self, requests):
		        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", np.array(pb_utils.get_input_tensor_by_name(r, "INPUT0").as_numpy()))]) for r in requests]
	PY
}

say "a small machine"
mkdir -p "$work/debs" "$work/machine/tmp" "$work/machine/dev" "$work/machine/proc" "$work/machine/etc" "$work/machine/var/lib/rpm" "$work/machine/var/lib/dpkg/info" "$work/machine/var/lib/dpkg/updates"
packages="libc6 libc-bin libstdc++6 libgcc-s1 ca-certificates dash bash libtinfo6 sed diffutils coreutils libacl1 libattr1 libselinux1 libpcre2-8-0 libgmp10 libssl3 passwd libaudit1 libcap-ng0
	libpam0g libsemanage2 libsemanage-common libsepol2 libbz2-1.0 libcrypt1 dpkg tar libmd0 liblzma5 libzstd1 zlib1g
	rpm rpm-common librpm9 librpmio9 librpmbuild9 librpmsign9 liblua5.3-0 libpopt0 libsqlite3-0 libgcrypt20 libgpg-error0 libcap2"
# shellcheck disable=SC2086 # packages are words
(cd "$work/debs" && timeout 300 apt-get -o APT::Sandbox::User=root -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= download -qq $packages) ||
	fail "apt-get cannot download Debian's packages: run apt-get update"
for deb in "$work"/debs/*.deb; do
	dpkg -x "$deb" "$work/machine"
	# For dpkg in there they are installed, so that what our package depends on is checked.
	for name in "$(dpkg-deb -f "$deb" Package)" "$(dpkg-deb --showformat '${Package}:${Architecture}' -W "$deb")"; do : >"$work/machine/var/lib/dpkg/info/$name.list"; done
	{ dpkg-deb -f "$deb" Package Version Architecture Multi-Arch Provides Maintainer Description && printf 'Status: install ok installed\n\n'; } >>"$work/machine/var/lib/dpkg/status"
done
ln -sf dash "$work/machine/bin/sh"
printf 'root:x:0:0:root:/root:/bin/sh\n' >"$work/machine/etc/passwd"
printf 'root:x:0:\n' >"$work/machine/etc/group"
mkdir "$work/deb"
cp -a "$work/machine/." "$work/deb"
mv "$work/machine" "$work/rpm"

# An upgrade: the same files with a higher version.
new=$work/newer
dpkg -x "$dist/triton_$arch.deb" "$work/files"
mkdir -p "$new/completions"
cp "$work/files/usr/lib/triton/bin/triton" "$new/triton"
cp -R "$work/files/usr/lib/triton/lib" "$new/lib"
cp -R "$work/files/usr/share/man/man1" "$new/man"
cp "$work/files/usr/share/bash-completion/completions/triton" "$new/completions/triton.bash"
cp "$work/files/usr/share/zsh/vendor-completions/_triton" "$work/files/usr/share/fish/vendor_completions.d/triton.fish" "$new/completions/"
NFPM=$nfpm deploy/nfpm/package.sh "$new" "$arch" 9999.0.0 0 "$work/newer" >/dev/null

# life ROOT INSTALL UPGRADE REMOVE: the life of a package. The three are commands inside the machine.
life() {
	root=$1
	run() { inside "$root" rw "$root" /bin/sh -euc "$1" >"$work/log" 2>&1 || fail "$1"; }
	model "$root" identity
	run "$2"
	uid=$(sed -n 's/^triton:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd")
	[ -n "$uid" ] || fail "the installation made no user triton"
	[ "$(stat -c %u "$root/var/lib/triton")" = "$uid" ] || fail "/var/lib/triton does not belong to the user triton"
	start "$uid" "$root" rw --userspec=triton "$root" /usr/bin/tritonserver
	! grep -q "models for ONNX Runtime will not be served" "$work/log" || fail "ONNX Runtime does not load"
	before=$(inside "$root" rw "$root" /usr/bin/triton --version)
	echo "# a change of the administrator" >>"$root/etc/triton/triton.yaml"
	run "$3"
	grep -q "a change of the administrator" "$root/etc/triton/triton.yaml" || fail "the upgrade replaced a changed configuration"
	start "$uid" "$root" rw --userspec=triton "$root" /usr/bin/tritonserver
	run "$4"
	left=$(cd "$root" && find usr -path '*triton*')
	[ -z "$left" ] || fail "the package left $left"
	[ -n "$(find "$root/etc/triton" -name 'triton.yaml*')" ] || fail "the removal took the changed configuration"
	say "$(basename "$root"): installed, started as user triton, asked, upgraded, removed ($before)"
}

cp "$dist/triton_$arch.deb" "$work/deb/tmp/old.deb"
cp "$work/newer.deb" "$work/deb/tmp/new.deb"
life "$work/deb" "dpkg -i /tmp/old.deb" "dpkg -i /tmp/new.deb" "dpkg -r triton"
run "dpkg -P triton"
[ ! -e "$root/etc/triton/triton.yaml" ] || fail "the purge left the configuration"

# Packages of Debian are not in rpm's database: --nodeps.
cp "$dist/triton_$arch.rpm" "$work/rpm/tmp/old.rpm"
cp "$work/newer.rpm" "$work/rpm/tmp/new.rpm"
life "$work/rpm" "rpm --nodeps -i /tmp/old.rpm" "rpm --nodeps -U /tmp/new.rpm" "rpm -e triton"

for file in "$dist"/triton-*.oci.tar; do
	variant=$(basename "$file" .oci.tar)
	root=$work/$variant
	mkdir -p "$root"
	"$work/image" -unpack "$root" "$file" "linux/$arch"
	[ ! -e "$root/bin/sh" ] && [ ! -e "$root/usr/bin/sh" ] || fail "$variant has a shell"
	mkdir -p "$root/dev" "$root/proc" # a container runtime mounts them
	case $variant in *python) model "$root" python ;; *) model "$root" identity ;; esac
	start 65532 "$root" ro --userspec=65532:65532 "$root" /opt/tritonserver/bin/triton tritonserver
	case $variant in *bare) ;; *) ! grep -q "models for ONNX Runtime will not be served" "$work/log" || fail "$variant: ONNX Runtime does not load" ;; esac
	say "$variant: started as user 65532 on a read-only file system, asked, ended"
	rm -rf "$root"
done
state | cmp -s - "$work/state" || fail "this machine is not as it was: compare /etc/passwd, /etc/group, /var/lib/dpkg/status"
say "everything ran; this machine is as it was"
