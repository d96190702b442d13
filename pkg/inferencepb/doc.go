// Package inferencepb holds the protobuf contract of the inference protocol:
// grpc_service.proto (the service) and model_config.proto (config.pbtxt), with
// the Go code generated from them by `make generate`. It has no code of its
// own; the fast inference codec is pkg/kserve/rpc.
package inferencepb
