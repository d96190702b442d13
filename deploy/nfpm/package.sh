#!/bin/sh
# Makes a deb and an rpm: package.sh ROOT ARCH VERSION EPOCH TARGET. ROOT has triton, lib/, man/ and completions/; the
# packages are TARGET.deb and TARGET.rpm. NFPM is the program.
set -eu
[ $# = 5 ] || { echo "usage: package.sh ROOT ARCH VERSION EPOCH TARGET" >&2; exit 1; }
cd "$(dirname "$0")/../.."
sed -e "s|\${ROOT}|$1|g" -e "s|\${ARCH}|$2|g" -e "s|\${VERSION}|$3|g" -e "s|\${MTIME}|$(date -u -d "@$4" +%Y-%m-%dT%H:%M:%SZ)|g" \
	deploy/nfpm/nfpm.yaml >"$1/nfpm.yaml"
for packager in deb rpm; do
	"${NFPM:-build/tools/nfpm}" package --config "$1/nfpm.yaml" --packager $packager --target "$5.$packager"
done
