# shellcheck shell=bash
# The calls with curl from Triton's documents, and further uses of HTTP by curl.

section=curl
have curl || return 0

get() { curl -sS -i -m 30 "${@:2}" "http://$http/$1"; }
data=$work/curl
mkdir -p "$data"

ints='0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15'
cat >"$data/simple.json" <<J
{"id":"curl","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":[$ints]},
 {"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":[[$ints]]}]}
J

# Plain requests.
expect "ready" '200 OK' get v2/health/ready
expect "live" '200 OK' get v2/health/live
expect "HEAD" 'HTTP/1.1 200' get v2/health/ready --head
expect "a second request on one connection" 'Re-?using existing' curl -sSv -m 30 "http://$http/v2" "http://$http/v2"
expect "metadata" '"extensions":\[' get v2
expect "model metadata" '"platform":"onnxruntime_onnx"' get v2/models/simple
expect "a version" '"versions":\["2"\]' get v2/models/text_classifier/versions/2
expect "config" '"max_batch_size":8' get v2/models/simple/config
expect "statistics" '"model_stats":\[' get v2/models/simple/stats
expect "index" '"name":"simple"' get v2/repository/index -X POST
expect "index of what is ready" '"state":"READY"' get v2/repository/index -d '{"ready":true}'
expect "not found" '404 Not Found' get v2/no/such/path
expect "wrong method" '405 Method Not Allowed' get v2/health/ready -X DELETE
expect "unknown model" '404 Not Found.*"error":"Request for unknown model: .no_such. is not found"' get v2/models/no_such/infer -d '{"inputs":[]}'
expect "no JSON" '400 Bad Request.*"error":"failed to parse the request JSON buffer' get v2/models/simple/infer -d 'nonsense'

# Inference as JSON.
expect "infer" '"id":"curl".*"data":\[0,2,4,6,8' get v2/models/simple/infer --data-binary "@$data/simple.json"
expect "infer with HTTP/1.0" 'HTTP/1.0 200.*"data":\[0,2,4' get v2/models/simple/infer --http1.0 --data-binary "@$data/simple.json"
expect "infer, chunked" '200 OK.*"data":\[0,2,4' get v2/models/simple/infer -H 'Transfer-Encoding: chunked' --data-binary "@$data/simple.json"
expect "infer of a version" '"data":\[0,2,4' get v2/models/simple/versions/1/infer --data-binary "@$data/simple.json"
gzip -k "$data/simple.json"
expect "gzip sent" '"data":\[0,2,4' get v2/models/simple/infer -H 'Content-Encoding: gzip' --data-binary "@$data/simple.json.gz"
expect "compressed answer" '[Cc]ontent-[Ee]ncoding: (gzip|deflate|zstd).*"data":\[0,2,4' get v2/models/simple/infer --compressed --data-binary "@$data/simple.json"
expect "all encodings by name" '"data":\[0,2,4' get v2/models/simple/infer --compressed -H 'Accept-Encoding: br;q=1.0, gzip;q=0.5, *;q=0' --data-binary "@$data/simple.json"

# Tensors as bytes.
header='{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,1000000],"parameters":{"binary_data_size":4000000}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}'
head -c 4000000 /dev/urandom >"$data/tensor"
{ printf '%s' "$header"; cat "$data/tensor"; } >"$data/binary"
binary() {
  curl -sS -m 30 -D "$data/head" -o "$data/out" "$@" -H "Inference-Header-Content-Length: ${#header}" --data-binary "@$data/binary" \
    "http://$http/v2/models/identity_fp32/infer"
  tail -c 4000000 "$data/out" | cmp - "$data/tensor" && echo "same bytes, $(tr -d '\r' <"$data/head" | grep -i 'inference-header')"
}
expect "binary tensors" '^same bytes, Inference-Header-Content-Length: [0-9]+' binary
expect "binary tensors after 100-continue" '100 Continue.*same bytes' binary -v -H 'Expect: 100-continue'
expect "binary tensors, chunked" 'same bytes' binary -H 'Transfer-Encoding: chunked'
raw() {
  printf '%s' 'a text' | curl -sS -m 30 --data-binary @- -H 'Content-Type: application/octet-stream' -H 'Inference-Header-Content-Length: 0' \
    "http://$http/v2/models/identity_fp32/infer"
}
expect "raw bytes that fit no tensor" '"error":"' raw
too_large() { head -c 70000000 /dev/zero | curl -sS -i -m 60 -H 'Expect:' --data-binary @- "http://$http/v2/models/identity_fp32/infer"; }
expect "a body above the limit" '400 Bad Request.*(exceeds the maximum allowed)' too_large

# Generate.
expect "generate" '"OUTPUT0":"hello"' get v2/models/identity_string/generate -d '{"INPUT0":"hello"}'
repeat='{"IN":[1,2],"DELAY":[0,0],"WAIT":0}'
expect "generate_stream" 'text/event-stream.*data: .*"OUT":1.*data: .*"OUT":2' get v2/models/repeat_int32/generate_stream -N -d "$repeat"
expect "generate_stream, client leaves" 'data: ' get v2/models/repeat_int32/generate_stream -N -m 1 -d '{"IN":[1,2,3],"DELAY":[0,500,60000],"WAIT":0}'

# Settings and model control.
expect "trace settings" '"trace_rate":"1000"' get v2/trace/setting
expect "trace settings of a model" '"trace_rate":"9"' get v2/models/simple/trace/setting -d '{"trace_rate":"9"}'
expect "trace settings cleared" '"trace_rate":"1000"' get v2/models/simple/trace/setting -d '{"trace_rate":null}'
expect "log settings" '"log_verbose_level":1' get v2/logging -d '{"log_verbose_level":1}'
expect "log settings back" '"log_verbose_level":0' get v2/logging -d '{"log_verbose_level":0}'
expect "unload" '200 OK' get v2/repository/models/square_int32/unload -X POST
expect "unloaded" '400 Bad Request' get v2/models/square_int32/ready
expect "load" '200 OK' get v2/repository/models/square_int32/load -X POST
expect "shared memory" '200 OK.*\[\]' get v2/systemsharedmemory/status

# Metrics.
counters() { curl -sS -m 30 "http://$metrics/metrics"; }
expect "metrics" 'nv_inference_request_success\{model="simple",version="1"\} [1-9]' counters
expect "metrics: no such path" '200 OK' curl -sS -i -m 30 "http://$metrics/no"
