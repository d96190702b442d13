package grpcapi

import (
	"context"

	"google.golang.org/grpc/health/grpc_health_v1"

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
	var all restrictions
	add := func(method string, c frontend.Category) {
		if need := rules.Needs(c); need != nil {
			if all == nil {
				all = restrictions{}
			}
			all[method] = &frontend.SecretHeader{Name: "triton-grpc-protocol-" + need.Name, Value: need.Value}
		}
	}
	for name, c := range categories {
		add("/"+rpc.Service+"/"+name, c)
	}
	add(grpc_health_v1.Health_Check_FullMethodName, frontend.HealthCalls)
	add(grpc_health_v1.Health_Watch_FullMethodName, frontend.HealthCalls)
	return all
}

// check returns an error for a call without its secret.
func (r restrictions) check(ctx context.Context, method string) error {
	need := r[method]
	if need == nil || need.Allows(header(ctx, need.Name)) {
		return nil
	}
	return statusError(status.New(status.Unavailable, "This protocol is restricted, expecting header '%s'", need.Name))
}
