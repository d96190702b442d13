package httpapi

import (
	"strings"

	"triton/server/frontend"
	"triton/server/http1"
)

// categories are the endpoints' categories.
var categories = [...]frontend.Category{
	serverLive: frontend.HealthCalls, serverReady: frontend.HealthCalls, modelReady: frontend.HealthCalls,
	serverMetadata: frontend.MetadataCalls, modelMetadata: frontend.MetadataCalls,
	modelConfig: frontend.ModelConfigCalls, modelStats: frontend.StatisticsCalls,
	modelInfer: frontend.InferenceCalls, modelGenerate: frontend.InferenceCalls, modelGenerateStream: frontend.InferenceCalls,
	repositoryIndex: frontend.ModelRepositoryCalls, repositoryLoad: frontend.ModelRepositoryCalls, repositoryUnload: frontend.ModelRepositoryCalls,
	trafficRules: frontend.ModelRepositoryCalls, trafficList: frontend.ModelRepositoryCalls, trafficDiffs: frontend.ModelRepositoryCalls,
	trafficPromote: frontend.ModelRepositoryCalls, trafficRollback: frontend.ModelRepositoryCalls,
	systemStatus: frontend.SharedMemoryCalls, systemRegister: frontend.SharedMemoryCalls, systemUnregister: frontend.SharedMemoryCalls,
	cudaStatus: frontend.SharedMemoryCalls, cudaRegister: frontend.SharedMemoryCalls, cudaUnregister: frontend.SharedMemoryCalls,
	traceSetting: frontend.TraceCalls, logSettings: frontend.LoggingCalls, fleetState: frontend.ModelRepositoryCalls,
}

// hasSecret reports whether the request has the secret that an endpoint needs, if it needs one; otherwise it
// refuses the request.
func (x *exchange) hasSecret(to endpoint) bool {
	need := x.api.opts.Restricted.Needs(categories[to])
	if need == nil || need.Allows(x.Get(strings.ToLower(need.Name))) {
		return true
	}
	x.ContentType = http1.TextPlain
	x.refuse(403, "This API is restricted, expecting header '"+need.Name+"'")
	return false
}
