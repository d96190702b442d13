#!/usr/bin/env bash
# A noisy neighbour with real processes: the 99th percentile of a quiet caller next to none, next to a
# caller at ten times its quota, with limits and without. Usage: neighbour.sh path/to/triton [seconds]
set -euo pipefail
triton=$(realpath "$1") seconds=${2:-10}
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
mkdir -p "$dir/models/m/1"
# Two rows in 10 ms: at most 200 requests per second.
cat > "$dir/models/m/config.pbtxt" <<'PB'
backend: "identity"
max_batch_size: 2
dynamic_batching { }
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
instance_group { kind: KIND_CPU count: 1 }
parameters { key: "execute_delay_ms" value { string_value: "10" } }
PB
quiet=$("$triton" access add quiet --api-keys "$dir/keys")
noisy=$("$triton" access add noisy --api-keys "$dir/keys")
rules="rules: [{who: ['*'], allow: ['*'], models: ['*']}]"
limits="limits: [{who: ['*'], requests_per_second: 40, burst: 500ms}]"

start() { # policy
    echo "$1" > "$dir/policy"
    "$triton" serve --model-repository "$dir/models" --api-keys "$dir/keys" --access-policy "$dir/policy" \
        --http-address 127.0.0.1 --http-port 0 --grpc-address 127.0.0.1 --grpc-port 0 --allow-metrics=false > "$dir/log" 2>&1 &
    server=$!
    for _ in $(seq 600); do
        address=$(grep -o 'Started HTTPService at [0-9.:]*' "$dir/log" | cut -d' ' -f4) && return
        sleep 0.1
    done
    cat "$dir/log" >&2
    exit 1
}
stop() { kill "$server"; wait "$server" || true; server=; }

quiet() { # one window of the quiet caller, 30 requests per second
    "$triton" perf -m m -u "$address" -H "X-API-Key: $quiet" --request-rate-range 30 \
        --percentile 99 -p "$((seconds * 1000))" -r 1 > "$dir/quiet" 2>&1 || true
    grep -o "p99 latency: [0-9]*" "$dir/quiet" | head -1 || { tail -3 "$dir/quiet" >&2; echo "no answer"; }
}
row() { # title noisy-rate
    local other=
    if [ "$2" -gt 0 ]; then
        python3 "$(dirname "$0")/noisy.py" "$address" "$noisy" "$2" > "$dir/noisy" 2>&1 &
        other=$!
        sleep 2
    fi
    printf '%-46s %s us\n' "$1" "$(quiet)"
    if [ -n "$other" ]; then kill "$other" 2>/dev/null || true; wait "$other" 2>/dev/null || true; fi
}
start "$rules
$limits"
row "limits, no neighbour" 0
row "limits, a neighbour at its quota" 40
row "limits, a neighbour at ten times its quota" 400
stop
start "$rules"
row "no limits, no neighbour" 0
row "no limits, a neighbour at the same rate" 400
stop
