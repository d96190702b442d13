#!/bin/sh
# Builds the stand-ins of a machine with two GPUs into a folder: build.sh DIR
# DIR/libnvidia-ml.so.1 and DIR/libcuda.so.1 go on LD_LIBRARY_PATH, DIR/nvidia-smi on the PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=${1:?usage: build.sh DIR}
mkdir -p "$dir"
cc -O1 -Wall -shared -fPIC -I"$(cd "$root" && go list -m -f '{{.Dir}}' github.com/NVIDIA/go-nvml)/pkg/nvml" -o "$dir/libnvidia-ml.so.1" "$here/nvml.c"
cc -O1 -Wall -shared -fPIC -o "$dir/libcuda.so.1" "$root/pkg/cuda/testdata/fake.c" -ldl
install -m 755 "$here/nvidia-smi" "$dir/nvidia-smi"
