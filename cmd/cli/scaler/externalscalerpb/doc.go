// Package externalscalerpb holds the protobuf contract between KEDA and an external scaler, with the
// Go code generated from it by `make generate`.
package externalscalerpb
