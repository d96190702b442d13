package grpcapi

import (
	"context"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/frontend"
)

// categories maps each call to its category.
var categories = map[string]frontend.Category{
	"ServerLive":                   frontend.HealthCalls,
	"ServerReady":                  frontend.HealthCalls,
	"ModelReady":                   frontend.HealthCalls,
	"ServerMetadata":               frontend.MetadataCalls,
	"ModelMetadata":                frontend.MetadataCalls,
	"ModelInfer":                   frontend.InferenceCalls,
	"ModelStreamInfer":             frontend.InferenceCalls,
	"ModelConfig":                  frontend.ModelConfigCalls,
	"ModelStatistics":              frontend.StatisticsCalls,
	"RepositoryIndex":              frontend.ModelRepositoryCalls,
	"RepositoryModelLoad":          frontend.ModelRepositoryCalls,
	"RepositoryModelUnload":        frontend.ModelRepositoryCalls,
	"SystemSharedMemoryStatus":     frontend.SharedMemoryCalls,
	"SystemSharedMemoryRegister":   frontend.SharedMemoryCalls,
	"SystemSharedMemoryUnregister": frontend.SharedMemoryCalls,
	"CudaSharedMemoryStatus":       frontend.SharedMemoryCalls,
	"CudaSharedMemoryRegister":     frontend.SharedMemoryCalls,
	"CudaSharedMemoryUnregister":   frontend.SharedMemoryCalls,
	"TraceSetting":                 frontend.TraceCalls,
	"LogSettings":                  frontend.LoggingCalls,
}

// restrictions maps the full name of each restricted call to the secret that it needs.
type restrictions map[string]*frontend.SecretHeader

func newRestrictions(rules *frontend.Restrictions) restrictions {
	var g restrictions
	add := func(method string, a frontend.Category) {
		if need := rules.Needs(a); need != nil {
			if g == nil {
				g = restrictions{}
			}
			g[method] = &frontend.SecretHeader{Name: "triton-grpc-protocol-" + need.Name, Value: need.Value}
		}
	}
	for name, a := range categories {
		add("/"+rpc.Service+"/"+name, a)
	}
	add(grpc_health_v1.Health_Check_FullMethodName, frontend.HealthCalls)
	add(grpc_health_v1.Health_Watch_FullMethodName, frontend.HealthCalls)
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
