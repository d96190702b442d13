#!/bin/sh
# Serves a model repository, waits until it is ready, measures resnet50 and stops cleanly:
# demo.sh TRITON MODELS HTTP-PORT
set -eu

triton=$1 models=$2 http=$3
grpc=$((http + 1)) metrics=$((http + 2))
log=build/demo.log
mkdir -p build

"$triton" serve --model-repository "$models" --http-address=127.0.0.1 --grpc-address=127.0.0.1 --metrics-address=127.0.0.1 \
  --http-port="$http" --grpc-port="$grpc" --metrics-port="$metrics" >"$log" 2>&1 &
pid=$!
trap 'kill -TERM $pid 2>/dev/null || true; wait $pid 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM # which ends the server as well

# The server says so when its models are loaded and its ports are open.
ready() { grep -q 'Started HTTPService' "$log"; }
n=0
until ready; do
  n=$((n + 1))
  if [ $n -gt 120 ] || ! kill -0 $pid 2>/dev/null; then
    echo "demo: the server did not become ready; its log:" >&2
    tail -20 "$log" >&2
    exit 1
  fi
  sleep 0.5
done
echo "demo: the server is ready on port $http (log: $log)"

# A busy machine makes for uneven measurements: a wider bound than perf's own, and
# code 2, not even that was kept, is not the demo's failure.
code=0
"$triton" perf -m resnet50 -u "127.0.0.1:$http" --concurrency-range 1:4 --stability-percentage 25 --table always || code=$?
case $code in
0) ;;
2) echo "demo: this machine is too busy for a stable measurement" >&2 ;;
*) exit $code ;;
esac

kill -TERM $pid
code=0
wait $pid || code=$?
trap - EXIT
[ $code -eq 0 ] || { echo "demo: the server ended with code $code" >&2; tail -20 "$log" >&2; exit 1; }
echo "demo: the server drained and stopped"
