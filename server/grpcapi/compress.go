package grpcapi

import (
	"context"
	"slices"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip" // registers itself

	"triton/pkg/kserve/rpc" // registers itself
	"triton/server/infer"
	"triton/server/memory"
)

// algorithm returns the algorithm that gRPC's C++ library, and so Triton, uses for a
// level, among those that the client accepts: low prefers gzip, medium and high prefer
// deflate. Neither library compresses harder for a higher level.
func (c Compression) algorithm(accepted []string) string {
	all := [...]string{gzip.Name, rpc.Deflate}
	if c < CompressMedium {
		slices.Reverse(all[:])
	}
	name := encoding.Identity
	for _, a := range all {
		if slices.Contains(accepted, a) {
			name = a
		}
	}
	return name
}

// chargeCompressed charges the memory that a response takes while it is compressed.
func (o *Options) chargeCompressed(resp *infer.Response, replied *memory.Charge) error {
	if o.Compression == CompressNone {
		return nil
	}
	return replied.Take(resp.Size())
}

// compress sets the compression of a call's responses. By default gRPC would compress
// the response to a compressed request.
func (c Compression) compress(ctx context.Context) {
	call := transportOf(ctx)
	if c == CompressNone {
		if used := call.RecvCompress(); used == "" || used == encoding.Identity {
			return
		}
		_ = call.SetSendCompress(encoding.Identity) // fails only for a call that has answered
		return
	}
	_ = call.SetSendCompress(c.algorithm(call.ClientAdvertisedCompressors()))
}
