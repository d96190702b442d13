package grpcapi

import (
	"context"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/restricted"
)

// categories maps each call to its category.
var categories = map[string]restricted.API{
	"ServerLive":                   restricted.Health,
	"ServerReady":                  restricted.Health,
	"ModelReady":                   restricted.Health,
	"ServerMetadata":               restricted.Metadata,
	"ModelMetadata":                restricted.Metadata,
	"ModelInfer":                   restricted.Inference,
	"ModelStreamInfer":             restricted.Inference,
	"ModelConfig":                  restricted.ModelConfig,
	"ModelStatistics":              restricted.Statistics,
	"RepositoryIndex":              restricted.ModelRepository,
	"RepositoryModelLoad":          restricted.ModelRepository,
	"RepositoryModelUnload":        restricted.ModelRepository,
	"SystemSharedMemoryStatus":     restricted.SharedMemory,
	"SystemSharedMemoryRegister":   restricted.SharedMemory,
	"SystemSharedMemoryUnregister": restricted.SharedMemory,
	"CudaSharedMemoryStatus":       restricted.SharedMemory,
	"CudaSharedMemoryRegister":     restricted.SharedMemory,
	"CudaSharedMemoryUnregister":   restricted.SharedMemory,
	"TraceSetting":                 restricted.Trace,
	"LogSettings":                  restricted.Logging,
}

// restrictions maps the full name of each restricted call to the secret that it needs.
type restrictions map[string]*restricted.Header

func newRestrictions(rules *restricted.Rules) restrictions {
	var g restrictions
	add := func(method string, a restricted.API) {
		if need := rules.Needs(a); need != nil {
			if g == nil {
				g = restrictions{}
			}
			g[method] = &restricted.Header{Name: "triton-grpc-protocol-" + need.Name, Value: need.Value}
		}
	}
	for name, a := range categories {
		add("/"+rpc.Service+"/"+name, a)
	}
	add(grpc_health_v1.Health_Check_FullMethodName, restricted.Health)
	add(grpc_health_v1.Health_Watch_FullMethodName, restricted.Health)
	return g
}

// check returns an error for a call without its secret.
func (g restrictions) check(ctx context.Context, method string) error {
	if g == nil {
		return nil
	}
	need := g[method]
	if need == nil {
		return nil
	}
	value := ""
	if v := metadata.ValueFromIncomingContext(ctx, need.Name); len(v) > 0 {
		value = v[0]
	}
	if need.Allows(value) {
		return nil
	}
	return statusError(status.New(status.Unavailable, "This protocol is restricted, expecting header '%s'", need.Name))
}
