# shellcheck shell=bash
# NVIDIA's perf_analyzer sweeps our server. The windows are short: this checks whether the
# two understand each other, not how fast they are, so any spread will do.

section=perf_analyzer
analyzer=$root/.oracle/bin/perf_analyzer
[[ -x $analyzer ]] || { skip "no $analyzer: run make oracle"; return 0; }

window=(-p 600 -s 999)
# sweep NAME REGEXP FLAGS...: the report has to match, and contain no failures.
sweep() {
  local name=$1 want=$2 out
  shift 2
  out=$(timeout 90 "$analyzer" "${window[@]}" "$@" 2>&1)
  if [[ $out =~ $want && ! $out =~ (rror:|[Ff]ailed to (obtain|retrieve|set)) ]]; then
    ok "$name: $(grep -E '^(Concurrency|Request Rate).*throughput' <<<"$out" | tr '\n' ';')"
  else
    bad "$name" "$out"
  fi
}

over_http=(-u "$http" -i http) over_grpc=(-u "$grpc" -i grpc)
sweep "HTTP, concurrency 1 to 7" 'Concurrency: 7, throughput: [1-9]' -m simple "${over_http[@]}" --concurrency-range 1:7:3
sweep "gRPC, concurrency 1 to 7" 'Concurrency: 7, throughput: [1-9]' -m simple "${over_grpc[@]}" --concurrency-range 1:7:3
sweep "HTTP, asynchronous, batches of 4" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_http[@]}" -a -b 4 --concurrency-range 2
sweep "gRPC, asynchronous, batches of 4" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_grpc[@]}" -a -b 4 --concurrency-range 2
sweep "HTTP, request rate" 'Request Rate: 100' -m simple "${over_http[@]}" --request-rate-range 100
sweep "gRPC, request rate, Poisson" 'Request Rate: 100' -m simple "${over_grpc[@]}" --request-rate-range 100 --request-distribution poisson
sweep "HTTP, system shared memory" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_http[@]}" --shared-memory=system --output-shared-memory-size 1024 --concurrency-range 2
sweep "gRPC, system shared memory" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_grpc[@]}" --shared-memory=system --output-shared-memory-size 1024 --concurrency-range 2
sweep "gRPC, stream" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_grpc[@]}" --streaming -a --concurrency-range 2
cat >"$work/repeat.json" <<'J'
{"data":[{"IN":{"content":[1,2,3],"shape":[3]},"DELAY":{"content":[1,1,1],"shape":[3]},"WAIT":{"content":[0],"shape":[1]}}]}
J
sweep "gRPC, stream of a decoupled model" 'Concurrency: 2, throughput: [1-9]' -m repeat_int32 "${over_grpc[@]}" --streaming -a --input-data "$work/repeat.json" --concurrency-range 2
sweep "gRPC, compressed" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_grpc[@]}" --grpc-compression-algorithm gzip --concurrency-range 2
sweep "HTTP, JSON tensors" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_http[@]}" --input-tensor-format=json --output-tensor-format=json --concurrency-range 2
sweep "HTTP, metrics collected" 'Concurrency: 2, throughput: [1-9]' -m simple "${over_http[@]}" --collect-metrics --metrics-url "http://$metrics/metrics" --metrics-interval 100 --verbose-csv -f "$work/metrics.csv" --concurrency-range 2
sweep "HTTP, strings" 'Concurrency: 2, throughput: [1-9]' -m identity_string "${over_http[@]}" --shape INPUT0:4 --string-length 20 --concurrency-range 2
sweep "HTTP, a model of two instances" 'Concurrency: 8, throughput: [1-9]' -m text_classifier "${over_http[@]}" --shape input_ids:8 --shape attention_mask:8 --input-data zero --concurrency-range 8
expect "its report as CSV" 'Concurrency,Inferences/Second' cat "$work/metrics.csv"
