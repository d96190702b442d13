package grpcapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"triton/server/infer"
)

// forward makes the metadata that the pattern matches parameters of the
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

// isTransportHeader are headers that grpc-go counts as metadata and gRPC's C++ library,
// Triton's, does not.
func isTransportHeader(name string) bool {
	return strings.HasPrefix(name, ":") || strings.HasPrefix(name, "grpc-") || name == "content-type"
}
