package grpcapi

import (
	"context"

	"google.golang.org/grpc/health/grpc_health_v1"

	"triton/pkg/kserve/rpc"
	"triton/pkg/status"
	"triton/server/access/policy"
	"triton/server/frontend"
)

// need is what a call needs: the secret of a category, if that is restricted, and the right to an action.
type need struct {
	category frontend.Category
	action   policy.Action
}

// needs are those of the calls of the inference service, by method.
var needs = map[string]need{
	"ServerLive":                   {frontend.HealthCalls, policy.ActionHealth},
	"ServerReady":                  {frontend.HealthCalls, policy.ActionHealth},
	"ModelReady":                   {frontend.HealthCalls, policy.ActionReady},
	"ServerMetadata":               {frontend.MetadataCalls, policy.ActionMetadata},
	"ModelMetadata":                {frontend.MetadataCalls, policy.ActionMetadata},
	"ModelInfer":                   {frontend.InferenceCalls, policy.ActionInfer},
	"ModelStreamInfer":             {frontend.InferenceCalls, policy.ActionInfer},
	"ModelConfig":                  {frontend.ModelConfigCalls, policy.ActionConfig},
	"ModelStatistics":              {frontend.StatisticsCalls, policy.ActionStatistics},
	"RepositoryIndex":              {frontend.ModelRepositoryCalls, policy.ActionIndex},
	"RepositoryModelLoad":          {frontend.ModelRepositoryCalls, policy.ActionLoad},
	"RepositoryModelUnload":        {frontend.ModelRepositoryCalls, policy.ActionLoad},
	"SystemSharedMemoryStatus":     {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"SystemSharedMemoryRegister":   {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"SystemSharedMemoryUnregister": {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"CudaSharedMemoryStatus":       {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"CudaSharedMemoryRegister":     {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"CudaSharedMemoryUnregister":   {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	"TraceSetting":                 {frontend.TraceCalls, policy.ActionSettings},
	"LogSettings":                  {frontend.LoggingCalls, policy.ActionSettings},
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
	for name, n := range needs {
		add("/"+rpc.Service+"/"+name, n.category)
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
