package httpapi

import (
	"strings"

	"triton/server/http1"
	"triton/server/restricted"
)

// categories are the endpoints' categories.
var categories = [...]restricted.API{
	serverLive: restricted.Health, serverReady: restricted.Health, modelReady: restricted.Health,
	serverMetadata: restricted.Metadata, modelMetadata: restricted.Metadata,
	modelConfig: restricted.ModelConfig, modelStats: restricted.Statistics,
	modelInfer: restricted.Inference, modelGenerate: restricted.Inference, modelGenerateStream: restricted.Inference,
	repositoryIndex: restricted.ModelRepository, repositoryLoad: restricted.ModelRepository, repositoryUnload: restricted.ModelRepository,
	trafficRules: restricted.ModelRepository, trafficList: restricted.ModelRepository, trafficDiffs: restricted.ModelRepository,
	trafficPromote: restricted.ModelRepository, trafficRollback: restricted.ModelRepository,
	systemStatus: restricted.SharedMemory, systemRegister: restricted.SharedMemory, systemUnregister: restricted.SharedMemory,
	cudaStatus: restricted.SharedMemory, cudaRegister: restricted.SharedMemory, cudaUnregister: restricted.SharedMemory,
	traceSetting: restricted.Trace, logSettings: restricted.Logging, fleetState: restricted.ModelRepository,
}

// permits reports whether the request may use an endpoint; otherwise it refuses the request.
func (x *exchange) permits(to endpoint) bool {
	need := x.api.opts.Restricted.Needs(categories[to])
	if need == nil || need.Allows(x.Get(strings.ToLower(need.Name))) {
		return true
	}
	x.ContentType = http1.TextPlain
	x.refuse(403, "This API is restricted, expecting header '"+need.Name+"'")
	return false
}
