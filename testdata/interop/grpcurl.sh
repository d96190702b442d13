# shellcheck shell=bash
# grpcurl knows our services by reflection alone.

section=grpcurl
grpcurl=$root/build/tools/grpcurl
service=inference.GRPCInferenceService

ask() { # CALL JSON, to the address $grpc
  "$grpcurl" -plaintext -max-time 20 -d "${2-}" "$grpc" "$1"
}
infer() { ask "$service/$1" "${2-}"; }

if [[ ! -x $grpcurl ]]; then
  skip "no $grpcurl: run make $grpcurl"
else
  ints='[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]'
  simple='"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"contents":{"int_contents":'$ints'}},
    {"name":"INPUT1","datatype":"INT32","shape":[1,16],"contents":{"int_contents":'$ints'}}]'
  repeat='{"model_name":"repeat_int32","inputs":[{"name":"IN","datatype":"INT32","shape":[2],"contents":{"int_contents":[7,8]}},
    {"name":"DELAY","datatype":"UINT32","shape":[2],"contents":{"uint_contents":[0,0]}},
    {"name":"WAIT","datatype":"UINT32","shape":[1],"contents":{"uint_contents":[0]}}]}'

  expect "list of services" 'grpc.health.v1.Health.*inference.GRPCInferenceService' "$grpcurl" -plaintext "$grpc" list
  expect "list of calls" 'ModelInfer.*ModelStreamInfer.*TraceSetting' "$grpcurl" -plaintext "$grpc" list "$service"
  expect "description of the service" 'rpc ModelStreamInfer \( stream .inference.ModelInferRequest \)' "$grpcurl" -plaintext "$grpc" describe "$service"
  expect "description of a message" 'repeated bytes raw_input_contents = 7' "$grpcurl" -plaintext "$grpc" describe inference.ModelInferRequest
  expect "description of the model configuration" 'max_batch_size' "$grpcurl" -plaintext "$grpc" describe inference.ModelConfig
  expect "health of the server" SERVING ask grpc.health.v1.Health/Check
  expect "health of the service" SERVING ask grpc.health.v1.Health/Check '{"service":"inference.GRPCInferenceService"}'
  expect "live" '"live": true' infer ServerLive
  expect "ready" '"ready": true' infer ModelReady '{"name":"simple"}'
  expect "metadata" '"name": "triton"' infer ServerMetadata
  expect "model metadata" 'onnxruntime_onnx' infer ModelMetadata '{"name":"simple"}'
  expect "config" '"maxBatchSize": 8' infer ModelConfig '{"name":"simple"}'
  expect "statistics" '"inferenceStats"' infer ModelStatistics '{"name":"simple"}'
  expect "index" 'resnet50' infer RepositoryIndex
  expect "infer" 'AAAAAAIAAAAEAAAA' infer ModelInfer '{"model_name":"simple",'"$simple"'}'
  expect "unknown model" 'Code: NotFound.*unknown model: .no_such. is not found' infer ModelInfer '{"model_name":"no_such"}'
  expect "inputs missing" 'Code: InvalidArgument.*expected 2 inputs but got 0 inputs' infer ModelInfer '{"model_name":"simple"}'
  expect "stream of a decoupled model" 'BwAAAA==.*CAAAAA==' infer ModelStreamInfer "$repeat"
  expect "error in a stream" 'errorMessage.*unknown model' infer ModelStreamInfer '{"model_name":"no_such"}'
  expect "unload" '^\{\}' infer RepositoryModelUnload '{"model_name":"square_int32"}'
  expect "load" '^\{\}' infer RepositoryModelLoad '{"model_name":"square_int32"}'
  expect "trace settings" '"trace_rate"' infer TraceSetting
  expect "log settings" '"log_verbose_level"' infer LogSettings
  expect "shared memory" '^\{' infer SystemSharedMemoryStatus
  expect "a call that does not exist" 'does not include a method' infer NoSuchCall
  expect "a header for a restricted protocol that is not configured" '"live": true' "$grpcurl" -plaintext -H 'triton-grpc-protocol-x: y' "$grpc" "$service/ServerLive"
fi
