// Package grpctest has tests that every gRPC transport must pass: the same frames lead to the same calls and
// answers as with grpc-go, gRPC's own interoperability tests pass, and a drain loses no request. Its tests do not
// know the inference service. It is for tests only.
package grpctest
