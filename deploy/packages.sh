#!/bin/sh
# Builds what a release has: packages.sh DEST. It needs Go, a C compiler, apt-get and dpkg (Debian's packages are
# unpacked, not installed), no root, no daemon and no registry. The same source gives the same bytes. DEST gets the
# finished files at the end; what has these names there is replaced, other files stay.
#   VERSION            default: git describe
#   SOURCE_DATE_EPOCH  default: the time of the commit
#   ONNXRUNTIME        the folder with ONNX Runtime's library and licence; default: lib
#   NFPM               the program; default: build/tools/nfpm
#   VARIANTS           images; default: "bare cpu python"
#   SIGNING_KEY        the file of a private key that signs the checksums; default: none, no signature
set -eu
umask 022
cd "$(dirname "$0")/.."
say() { echo "packages: $*"; }
fail() { echo "packages: $*" >&2; exit 1; }
dest=${1:?usage: packages.sh DEST}
version=${VERSION:-$(git describe --tags --always --dirty)}
commit=$(git rev-parse HEAD)
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
ort=${ONNXRUNTIME:-lib}
export NFPM="${NFPM:-build/tools/nfpm}"
variants=${VARIANTS-bare cpu python}
native=$(go env GOARCH)

for p in cc apt-get dpkg gzip sha256sum "$NFPM"; do command -v "$p" >/dev/null || fail "$p is missing"; done
ls "$ort"/libonnxruntime.so* >/dev/null 2>&1 || fail "$ort has no libonnxruntime.so: run make onnxruntime, or set ONNXRUNTIME"
[ -z "${SIGNING_KEY:-}" ] || [ -r "$SIGNING_KEY" ] || fail "SIGNING_KEY names no readable file: $SIGNING_KEY"
# Programs need the C library of the machine that built them, or a newer one, and images get that of Debian.
case "$(uname -s) $native $(. /etc/os-release && echo "$ID $VERSION_ID")" in
"Linux amd64 debian 12" | "Linux arm64 debian 12") ;;
*) fail "this builds on Debian 12, amd64 or arm64: the images have its C library and its Python 3.11" ;;
esac

mkdir -p "$dest"
dest=$(cd "$dest" && pwd)
work=$(mktemp -d "$dest/.packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
out=$work/out
mkdir -p "$out"
case $version in [0-9]*.*.*) number=$version ;; v[0-9]*) number=${version#v} ;; *) number=0.0.0-$version ;; esac

# 1. Programs. "native" opens ONNX Runtime, GPUs and libraries built for Triton; "bare" needs nothing, not even a C library.
flags="-s -w -buildid= -X main.version=$version -X main.commit=$commit"
build() { # ARCH CGO LDFLAGS OUTPUT
	GOOS=linux GOARCH=$1 CGO_ENABLED=$2 go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "$flags $3" -o "$4" ./cmd/triton
}
link="-extldflags=-Wl,-z,lazy,--build-id=none,--version-script=$PWD/server/capi/exports.map"
build "$native" 1 "$link" "$work/native-$native"
natives=$native
mkdir -p "$work/lib-$native"
cp "$ort"/libonnxruntime.so* "$ort"/onnxruntime-* "$work/lib-$native/"
if [ "$native" = amd64 ] && command -v aarch64-linux-gnu-gcc >/dev/null; then
	CC=aarch64-linux-gnu-gcc build arm64 1 "$link" "$work/native-arm64"
	deploy/onnxruntime.sh "$work/lib-arm64" linux arm64
	natives="amd64 arm64"
	say "deb and rpm are for amd64 and arm64, the images cpu and python for amd64 only (they are built on their own architecture), the image bare for both"
else
	say "deb, rpm and the images cpu and python are for $native only (aarch64-linux-gnu-gcc on amd64 makes deb and rpm for arm64), the image bare is for amd64 and arm64"
fi
chmod 0644 "$work"/lib-*/*
for arch in amd64 arm64; do build $arch 0 "" "$work/bare-$arch"; done

# 2. Manual pages and completions.
# With the settings of the program, so that what was compiled is used again.
go run -trimpath -tags grpcnotrace ./deploy/manual "$work/man" "$version" "$SOURCE_DATE_EPOCH"
mkdir -p "$work/completions"
"$work/native-$native" completion bash >"$work/completions/triton.bash"
"$work/native-$native" completion zsh >"$work/completions/_triton"
"$work/native-$native" completion fish >"$work/completions/triton.fish"

# 3. Packages for Debian and Red Hat.
gzip -9n "$work"/man/*.1
for arch in $natives; do
	root=$work/package-$arch
	mkdir -p "$root"
	cp "$work/native-$arch" "$root/triton"
	cp -R "$work/completions" "$work/man" "$root/"
	cp -R "$work/lib-$arch" "$root/lib"
	deploy/nfpm/package.sh "$root" "$arch" "$number" "$SOURCE_DATE_EPOCH" "$out/triton_$arch"
done

# 4. Images. A layer of what they share (certificates, users), one of libraries from Debian, one of the program.
debian() { # FOLDER PACKAGE...
	folder=$1
	shift
	mkdir -p "$folder" "$work/debs"
	# Neither the user _apt nor caches in /var are needed for a download.
	(cd "$work/debs" && timeout 300 apt-get -o APT::Sandbox::User="$(id -un)" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Retries=1 download -qq "$@") ||
		fail "apt-get cannot download Debian's packages ($*): root must have run apt-get update"
	for p in "$@"; do dpkg -x "$work/debs/${p}"_*.deb "$folder"; done
}
base=$work/layers/base
debian "$work/certificates" ca-certificates
mkdir -p "$base/etc/ssl/certs" "$base/tmp" "$base/models" "$base/home/nonroot"
chmod 1777 "$base/tmp"
# Debian's script that joins them runs when the package is installed; the names are sorted.
find "$work/certificates/usr/share/ca-certificates" -name '*.crt' | LC_ALL=C sort | xargs cat >"$base/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' >"$base/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$base/etc/group"
echo 'hosts: files dns' >"$base/etc/nsswitch.conf"

program() { # FOLDER BINARY
	mkdir -p "$1/opt/tritonserver/bin"
	cp "$2" "$1/opt/tritonserver/bin/triton"
	chmod 0755 "$1/opt/tritonserver/bin/triton"
	for name in tritonserver perf_analyzer model-analyzer; do ln -s triton "$1/opt/tritonserver/bin/$name"; done
}
# Documentation, locales and programs of libraries have no use without a shell.
libraries() { # FOLDER
	rm -rf "$1/usr/share" "$1/usr/lib/"*/gconv "$1/usr/lib/"*/audit "$1/etc/ld.so.conf.d" "$1/sbin" "$1/usr/sbin" "$1/usr/bin" "$1/usr/lib/locale"
}
image() { # VARIANT PLATFORM=FOLDERS...
	variant=$1
	shift
	go run ./deploy/image -output "$out/triton-$variant.oci.tar" -epoch "$SOURCE_DATE_EPOCH" -name "triton:$version-$variant" \
		-entrypoint /opt/tritonserver/bin/triton -command "tritonserver --model-repository=/models" -env "PATH=/opt/tritonserver/bin:/usr/bin HOME=/home/nonroot SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt" \
		-ports "8000 8001 8002" -workdir /opt/tritonserver \
		-labels "org.opencontainers.image.title=triton;org.opencontainers.image.version=$version;org.opencontainers.image.revision=$commit;org.opencontainers.image.licenses=Apache-2.0;org.opencontainers.image.description=Inference server with the protocol of NVIDIA Triton ($variant)" \
		"$@"
}
bare() {
	for arch in amd64 arm64; do program "$work/layers/bare-$arch" "$work/bare-$arch"; done
	image bare "linux/amd64=$base,$work/layers/bare-amd64" "linux/arm64=$base,$work/layers/bare-arm64"
}
libc=$work/layers/libc
cpu=$work/layers/cpu
engine() { # the layers that cpu and python share
	[ ! -d "$cpu" ] || return 0
	debian "$libc" libc6 libstdc++6 libgcc-s1
	libraries "$libc"
	program "$cpu" "$work/native-$native"
	cp -R "$work/lib-$native" "$cpu/opt/tritonserver/lib"
}
python() {
	py=$work/layers/python
	debian "$py" python3-minimal python3.11-minimal libpython3.11-minimal libpython3.11-stdlib python3-numpy libblas3 liblapack3 \
		libgfortran5 libquadmath0 libexpat1 zlib1g libffi8 libbz2-1.0 liblzma5 libuuid1 libssl3
	# The interpreter's programs stay; its documents do not.
	rm -rf "$py/usr/share/doc" "$py/usr/share/man" "$py/usr/share/lintian" "$py/usr/sbin" "$py/usr/bin/py3clean" "$py/usr/bin/py3compile" "$py"/usr/lib/python3/dist-packages/numpy/*/tests
	for l in blas lapack; do # update-alternatives makes these links
		for f in "$py"/usr/lib/*-linux-gnu/$l/lib$l.so.3; do ln -sf "$l/lib$l.so.3" "$(dirname "$(dirname "$f")")/lib$l.so.3"; done
	done
	image python "linux/$native=$base,$libc,$py,$cpu"
}
for variant in $variants; do
	case $variant in
	bare) bare ;;
	cpu)
		engine
		image cpu "linux/$native=$base,$libc,$cpu" ;;
	python)
		engine
		python ;;
	*) fail "VARIANTS has $variant: the images are bare, cpu and python" ;;
	esac
done

# 5. Bill of materials, provenance, checksums, signatures.
bill() { # NAME OPTION...
	name=$1
	shift
	go run ./deploy/sbom -version "$version" -epoch "$SOURCE_DATE_EPOCH" "$@" -spdx "$out/$name.spdx.json" -cyclonedx "$out/$name.cdx.json" -provenance "$out/$name.intoto.json" "$work/$name"
	cp "$work/$name" "$out/triton-$name"
}
for arch in $natives; do
	bill "native-$arch" -library "onnxruntime,$(sed -n 's/^onnxruntime==\([0-9.]*\).*/\1/p' deploy/onnxruntime.txt),MIT,$(ls "$work/lib-$arch"/libonnxruntime.so* | head -n 1)"
done
for arch in amd64 arm64; do bill "bare-$arch"; done
(cd "$out" && LC_ALL=C sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
# A signature as cosign makes it (ECDSA P-256 over SHA-256, DER in base64); openssl and cosign verify-blob read it.
if [ -n "${SIGNING_KEY:-}" ]; then
	openssl dgst -sha256 -sign "$SIGNING_KEY" -out "$work/sig" "$out/SHA256SUMS"
	openssl base64 -A -in "$work/sig" -out "$out/SHA256SUMS.sig"
	openssl pkey -in "$SIGNING_KEY" -pubout -out "$out/triton.pem"
	openssl dgst -sha256 -verify "$out/triton.pem" -signature "$work/sig" "$out/SHA256SUMS"
else
	rm -f "$dest/SHA256SUMS.sig" "$dest/triton.pem" # of an earlier build
	say "SIGNING_KEY names no key: SHA256SUMS is not signed (openssl ecparam -name prime256v1 -genkey -noout -out key.pem)"
fi
mv -f "$out"/* "$dest/"
(cd "$dest" && ls -l $(cut -c 67- SHA256SUMS))
