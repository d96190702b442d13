#!/bin/sh
# Builds the packages twice and compares them: reproducible.sh FOLDER. The two sources lie in folders with different
# names, and each build has a cache of its own. KEEP_CACHE=1 uses the usual one: only what depends on the folder shows.
set -eu
cd "$(dirname "$0")/.."
folder=${1:?usage: reproducible.sh FOLDER}
version=${VERSION:-$(git describe --tags --always)}
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
export ONNXRUNTIME="${ONNXRUNTIME:-$PWD/lib}" VERSION="$version" NFPM="${NFPM:?the path of nfpm}"
for name in one another-folder; do
	git clone -q --no-checkout . "$folder/$name"
	git -C "$folder/$name" checkout -q "$(git rev-parse HEAD)"
	[ -n "${KEEP_CACHE:-}" ] || export GOCACHE="$folder/cache-$name"
	"$folder/$name/deploy/packages.sh" "$folder/$name/dist" >"$folder/$name.log" 2>&1 || { tail -20 "$folder/$name.log" >&2; exit 1; }
done
diff "$folder/one/dist/SHA256SUMS" "$folder/another-folder/dist/SHA256SUMS"
echo "reproducible: both builds made the same $(wc -l <"$folder/one/dist/SHA256SUMS") files"
