package grpcapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"triton/server/infer"
)

// forward adds the metadata whose names match the pattern to the parameters of the
// request, in the order of their names as Triton does.
func (s *service) forward(ctx context.Context, r *infer.Request) error {
	if s.opts.Forward == nil {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, name := range slices.Sorted(maps.Keys(md)) {
		if isTransportHeader(name) || !s.opts.Forward.MatchString(name) {
			continue
		}
		for _, v := range md[name] {
			if err := r.Forward(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTransportHeader reports whether a header is metadata for grpc-go, but not for gRPC's
// C++ library, which Triton uses.
func isTransportHeader(name string) bool {
	return strings.HasPrefix(name, ":") || strings.HasPrefix(name, "grpc-") || name == "content-type"
}
