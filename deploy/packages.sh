#!/bin/sh
# Builds what a release has: packages.sh DEST. It needs Go, apt-get and dpkg (Debian's packages are unpacked, not
# installed), no root, no daemon and no registry. The same source gives the same bytes.
#   VERSION            default: git describe
#   SOURCE_DATE_EPOCH  default: the time of the commit
#   ONNXRUNTIME        the folder with ONNX Runtime's library and licence; default: lib
#   NFPM               the program; default: build/tools/nfpm
#   VARIANTS           images; default: "bare cpu python"
set -eu
cd "$(dirname "$0")/.."
dest=${1:?usage: packages.sh DEST}
mkdir -p "$dest"
dest=$(cd "$dest" && pwd)
version=${VERSION:-$(git describe --tags --always --dirty)}
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
ort=${ONNXRUNTIME:-lib}
nfpm=${NFPM:-build/tools/nfpm}
variants=${VARIANTS:-bare cpu python}
work=$dest/work
rm -rf "$work"
mkdir -p "$work"
say() { echo "packages: $*"; }
case $version in [0-9]*.*.*) number=$version ;; v[0-9]*) number=${version#v} ;; *) number=0.0.0-$version ;; esac

# 1. Programs. "native" opens ONNX Runtime, GPUs and libraries built for Triton; "bare" needs nothing, not even a C library.
flags="-s -w -buildid= -funcalign=16 -X main.version=$version -X main.commit=$(git rev-parse HEAD)"
build() { # ARCH CGO LDFLAGS OUTPUT
	GOOS=linux GOARCH=$1 CGO_ENABLED=$2 go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "$flags $3" -o "$4" ./cmd/triton
}
native=$(go env GOARCH)
link="-extldflags=-Wl,-z,lazy,--build-id=none,--version-script=$PWD/server/capi/exports.map"
natives=$native
build "$native" 1 "$link" "$work/native-$native"
if [ "$native" = amd64 ] && command -v aarch64-linux-gnu-gcc >/dev/null; then
	CC=aarch64-linux-gnu-gcc build arm64 1 "$link" "$work/native-arm64"
	natives="amd64 arm64"
else
	say "no C compiler for the other architecture (aarch64-linux-gnu-gcc): deb, rpm and the images cpu and python are for $native only; the image bare is for both"
fi
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
	mkdir -p "$root/lib"
	cp "$work/native-$arch" "$root/triton"
	cp "$ort"/libonnxruntime* "$ort"/onnxruntime-* "$root/lib/"
	chmod 0644 "$root"/lib/*
	cp -R "$work/completions" "$work/man" "$root/"
	sed -e "s|\${ROOT}|$root|g" -e "s|\${ARCH}|$arch|g" -e "s|\${VERSION}|$number|g" \
		-e "s|\${MTIME}|$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)|g" deploy/nfpm/nfpm.yaml >"$work/nfpm-$arch.yaml"
	for packager in deb rpm; do "$nfpm" package --config "$work/nfpm-$arch.yaml" --packager $packager --target "$dest/triton_$arch.$packager"; done
done

# 4. Images. A layer of what they share (certificates, users), one of libraries from Debian, one of the program.
debian() { # ARCH FOLDER PACKAGE...
	arch=$1 folder=$2
	shift 2
	mkdir -p "$work/debs-$arch" "$folder"
	for p in "$@"; do
		ls "$work/debs-$arch/${p}"_*.deb >/dev/null 2>&1 ||
			(cd "$work/debs-$arch" && timeout 120 apt-get -o APT::Architecture="$arch" -o Acquire::Retries=1 download -qq "$p")
		dpkg -x "$work/debs-$arch/${p}"_*.deb "$folder"
	done
}
base=$work/layers/base
debian "$native" "$work/certificates" ca-certificates
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
	go run ./deploy/image -output "$dest/triton-$variant.oci.tar" -epoch "$SOURCE_DATE_EPOCH" -name "triton:$version-$variant" \
		-entrypoint /opt/tritonserver/bin/triton -command "tritonserver --model-repository=/models" -env "PATH=/opt/tritonserver/bin:/usr/bin HOME=/home/nonroot SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt" \
		-ports "8000 8001 8002" -workdir /opt/tritonserver \
		-labels "org.opencontainers.image.title=triton;org.opencontainers.image.version=$version;org.opencontainers.image.revision=$(git rev-parse HEAD);org.opencontainers.image.licenses=Apache-2.0;org.opencontainers.image.description=Inference server with the protocol of NVIDIA Triton ($variant)" \
		"$@" | tee "$dest/triton-$variant.txt"
}
for variant in $variants; do
	platforms=
	case $variant in
	bare)
		for arch in amd64 arm64; do
			program "$work/layers/bare-$arch" "$work/bare-$arch"
			platforms="$platforms linux/$arch=$base,$work/layers/bare-$arch"
		done ;;
	cpu | python)
		for arch in $natives; do
			[ -d "$work/layers/libc-$arch" ] || { debian "$arch" "$work/layers/libc-$arch" libc6 libstdc++6 libgcc-s1; libraries "$work/layers/libc-$arch"; }
			[ -d "$work/layers/cpu-$arch" ] || {
				program "$work/layers/cpu-$arch" "$work/native-$arch"
				mkdir -p "$work/layers/cpu-$arch/opt/tritonserver/lib"
				cp "$ort"/libonnxruntime* "$ort"/onnxruntime-* "$work/layers/cpu-$arch/opt/tritonserver/lib/"
			}
			layers=$base,$work/layers/libc-$arch
			if [ "$variant" = python ]; then
				py=$work/layers/python-$arch
				# The interpreter's programs stay; its documents do not.
				debian "$arch" "$py" python3-minimal python3.11-minimal libpython3.11-minimal libpython3.11-stdlib python3-numpy libblas3 liblapack3 \
					libgfortran5 libquadmath0 libexpat1 zlib1g libffi8 libbz2-1.0 liblzma5 libuuid1 libssl3
				rm -rf "$py/usr/share/doc" "$py/usr/share/man" "$py/usr/share/lintian" "$py/usr/sbin" "$py/usr/bin/py3clean" "$py/usr/bin/py3compile" "$py"/usr/lib/python3/dist-packages/numpy/*/tests
				for l in blas lapack; do # update-alternatives makes these links
					for f in "$py"/usr/lib/*-linux-gnu/$l/lib$l.so.3; do ln -sf "$l/lib$l.so.3" "$(dirname "$(dirname "$f")")/lib$l.so.3"; done
				done
				layers=$layers,$py
			fi
			platforms="$platforms linux/$arch=$layers,$work/layers/cpu-$arch"
		done ;;
	esac
	# shellcheck disable=SC2086 # platforms are words
	image "$variant" $platforms
done

# 5. Bill of materials, provenance, checksums, signatures.
for f in "native-$native" bare-amd64 bare-arm64; do
	set --
	case $f in native*) set -- -library "onnxruntime,$(sed -n 's/^onnxruntime==\([0-9.]*\).*/\1/p' deploy/onnxruntime.txt),MIT,$(ls "$ort"/libonnxruntime.so* | head -n 1)" ;; esac
	go run ./deploy/sbom -version "$version" -epoch "$SOURCE_DATE_EPOCH" "$@" -spdx "$dest/$f.spdx.json" -cyclonedx "$dest/$f.cdx.json" -provenance "$dest/$f.intoto.json" "$work/$f"
	cp "$work/$f" "$dest/triton-$f"
done
(cd "$dest" && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '*.sig' ! -name '*.pem' ! -name '*.txt' | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum >SHA256SUMS)
# A signature as cosign makes it (ECDSA P-256 over SHA-256, DER in base64); openssl and cosign verify-blob read it.
if [ -n "${SIGNING_KEY:-}" ]; then
	openssl dgst -sha256 -sign "$SIGNING_KEY" "$dest/SHA256SUMS" | openssl base64 -A >"$dest/SHA256SUMS.sig"
	openssl pkey -in "$SIGNING_KEY" -pubout >"$dest/triton.pem"
	openssl base64 -d -A -in "$dest/SHA256SUMS.sig" -out "$work/sig"
	openssl dgst -sha256 -verify "$dest/triton.pem" -signature "$work/sig" "$dest/SHA256SUMS"
else
	say "SIGNING_KEY names no key: SHA256SUMS is not signed (openssl ecparam -name prime256v1 -genkey -noout -out key.pem)"
fi
rm -rf "$work"
ls -l "$dest"
