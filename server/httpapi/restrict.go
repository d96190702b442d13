package httpapi

import (
	"strings"

	"triton/server/restricted"
)

// categories says which kind of call each endpoint is.
var categories = [...]restricted.API{
	serverLive: restricted.Health, serverReady: restricted.Health, modelReady: restricted.Health,
	serverMetadata: restricted.Metadata, modelMetadata: restricted.Metadata,
	modelConfig: restricted.ModelConfig, modelStats: restricted.Statistics,
	modelInfer: restricted.Inference, modelGenerate: restricted.Inference, modelGenerateStream: restricted.Inference,
	repositoryIndex: restricted.ModelRepository, repositoryLoad: restricted.ModelRepository, repositoryUnload: restricted.ModelRepository,
	systemStatus: restricted.SharedMemory, systemRegister: restricted.SharedMemory, systemUnregister: restricted.SharedMemory,
	cudaStatus: restricted.SharedMemory, cudaRegister: restricted.SharedMemory, cudaUnregister: restricted.SharedMemory,
	traceSetting: restricted.Trace, logSettings: restricted.Logging,
}

// permits says whether the request may use an endpoint; if not it is refused.
func (x *exchange) permits(to endpoint) bool {
	need := x.api.opts.Restricted.Needs(categories[to])
	if need == nil || need.Allows(x.fields.get(strings.ToLower(need.Name))) {
		return true
	}
	x.form = textPlain
	x.refuse(403, "This API is restricted, expecting header '"+need.Name+"'")
	return false
}
