# shellcheck shell=bash
# Starts our server: its ports are free ones, taken from its log.

servers=()

# serve NAME FLAGS...: sets http, grpc and metrics to the addresses.
serve() {
  local log=$work/$1.log
  : >"$log"
  shift
  "$triton" serve --model-repository "$models" --onnxruntime-library "$ort" \
    --model-control-mode=explicit --http-address=127.0.0.1 --grpc-address=127.0.0.1 \
    --http-port=0 --grpc-port=0 --metrics-port=0 "$@" >"$log" 2>&1 &
  servers+=($!)
  for _ in $(seq 300); do
    grep -q 'Started Metrics Service' "$log" && break
    kill -0 $! 2>/dev/null || break
    sleep 0.2
  done
  http=$(started HTTPService "$log") grpc=$(started GRPCInferenceService "$log") metrics=$(started 'Metrics Service' "$log")
  [[ -n $http && -n $grpc && -n $metrics ]] || { echo "the server did not start:"; cat "$log"; exit 1; }
}

started() { sed -n "s/.*Started $1 at \([0-9.:]*\).*/\1/p" "$2" | head -1; }

# stop ends the newest server, which has to leave with exit code 0.
stop() {
  local pid=${servers[-1]}
  unset 'servers[-1]'
  kill "$pid" && wait "$pid"
}

stop_all() {
  local pid
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null; done
  wait
}
