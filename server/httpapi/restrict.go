package httpapi

import (
	"strings"

	"triton/server/access/policy"
	"triton/server/frontend"
	"triton/server/http1"
)

// need is what a request needs: the secret of a category, if that is restricted, and the right to an action.
type need struct {
	category frontend.Category
	action   policy.Action
}

// needs are those of the endpoints. The guard refuses an endpoint without an entry.
var needs = [endpointCount]need{
	serverLive:          {frontend.HealthCalls, policy.ActionHealth},
	serverReady:         {frontend.HealthCalls, policy.ActionHealth},
	modelReady:          {frontend.HealthCalls, policy.ActionReady},
	serverMetadata:      {frontend.MetadataCalls, policy.ActionMetadata},
	modelMetadata:       {frontend.MetadataCalls, policy.ActionMetadata},
	modelConfig:         {frontend.ModelConfigCalls, policy.ActionConfig},
	modelStats:          {frontend.StatisticsCalls, policy.ActionStatistics},
	modelInfer:          {frontend.InferenceCalls, policy.ActionInfer},
	modelGenerate:       {frontend.InferenceCalls, policy.ActionInfer},
	modelGenerateStream: {frontend.InferenceCalls, policy.ActionInfer},
	repositoryIndex:     {frontend.ModelRepositoryCalls, policy.ActionIndex},
	repositoryLoad:      {frontend.ModelRepositoryCalls, policy.ActionLoad},
	repositoryUnload:    {frontend.ModelRepositoryCalls, policy.ActionLoad},
	trafficRules:        {frontend.ModelRepositoryCalls, policy.ActionTraffic},
	trafficList:         {frontend.ModelRepositoryCalls, policy.ActionTraffic},
	trafficDiffs:        {frontend.ModelRepositoryCalls, policy.ActionTraffic},
	trafficPromote:      {frontend.ModelRepositoryCalls, policy.ActionTraffic},
	trafficRollback:     {frontend.ModelRepositoryCalls, policy.ActionTraffic},
	systemStatus:        {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	systemRegister:      {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	systemUnregister:    {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	cudaStatus:          {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	cudaRegister:        {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	cudaUnregister:      {frontend.SharedMemoryCalls, policy.ActionSharedMemory},
	traceSetting:        {frontend.TraceCalls, policy.ActionSettings},
	logSettings:         {frontend.LoggingCalls, policy.ActionSettings},
	fleetState:          {frontend.ModelRepositoryCalls, policy.ActionState},
}

// hasSecret reports whether the request has the secret that an endpoint needs, if it needs one; otherwise it
// refuses the request.
func (x *exchange) hasSecret(to endpoint) bool {
	need := x.api.opts.Restricted.Needs(needs[to].category)
	if need == nil || need.Allows(x.Get(strings.ToLower(need.Name))) {
		return true
	}
	x.ContentType = http1.TextPlain
	x.refuse(403, "This API is restricted, expecting header '"+need.Name+"'")
	return false
}
