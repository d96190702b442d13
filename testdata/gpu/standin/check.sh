#!/bin/sh
# Checks that a program finds the functions of NVIDIA's driver: check.sh PROGRAM
# Tests in Go are linked otherwise, so they would not see that the program cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
"$here/build.sh" "$dir"
devices=$(LD_LIBRARY_PATH=$dir "$1" analyze devices --output json) || { echo "$1 fails on a machine with GPUs" >&2; exit 1; }
case $devices in
*'"NVIDIA Stand-in"'*) ;;
*) echo "$1 does not find the GPUs: $devices" >&2; exit 1 ;;
esac
