#!/bin/sh
# Builds the packages twice and compares them: reproducible.sh FOLDER. The two sources lie in folders with different
# names below FOLDER, and each build has a cache of its own; all of it is removed if the builds are the same.
#   VERSION     default: git describe
#   ONNXRUNTIME, NFPM, VARIANTS  as packages.sh reads them
#   KEEP_CACHE  1: the usual cache of Go. What was compiled is used again, so only what is linked and packed is compared.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "${1:?usage: reproducible.sh FOLDER}"
folder=$(mktemp -d "$(cd "$1" && pwd)/builds.XXXXXX")
trap 'exit 130' INT TERM
fail() { echo "reproducible: $*; see $folder" >&2; exit 1; }
ONNXRUNTIME=$(cd "${ONNXRUNTIME:-lib}" && pwd)
NFPM=${NFPM:-build/tools/nfpm}
NFPM=$(cd "$(dirname "$NFPM")" && pwd)/$(basename "$NFPM")
VERSION=${VERSION:-$(git describe --tags --always)}
export ONNXRUNTIME NFPM VERSION
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || echo "reproducible: what is not committed is left out"
for name in one another-folder; do
	git clone -q --no-checkout . "$folder/$name"
	git -C "$folder/$name" checkout -q "$commit"
	[ -n "${KEEP_CACHE:-}" ] || export GOCACHE="$folder/cache"
	"$folder/$name/deploy/packages.sh" "$folder/$name/dist" >"$folder/$name.log" 2>&1 || { tail -20 "$folder/$name.log" >&2; fail "the build in $name failed"; }
	[ -n "${KEEP_CACHE:-}" ] || rm -rf "$GOCACHE"
done
diff "$folder/one/dist/SHA256SUMS" "$folder/another-folder/dist/SHA256SUMS" || fail "these files differ"
(cd "$folder/one/dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS is wrong"
echo "reproducible: both builds made the same $(wc -l <"$folder/one/dist/SHA256SUMS") files: $(sha256sum "$folder/one/dist/SHA256SUMS" | cut -c -64)"
rm -rf "$folder"
