package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/access/policy"
)

// RouteSample is a request of an endpoint; its model, if it has one, is MODEL.
type RouteSample struct {
	Method, Path string
	Action       policy.Action
}

// routeSamples has requests of every endpoint. TestEveryRouteHasAnAction fails without.
var routeSamples = [endpointCount][]RouteSample{
	serverLive:          {{"GET", "/v2/health/live", policy.ActionHealth}},
	serverReady:         {{"GET", "/v2/health/ready", policy.ActionHealth}, {"GET", "/v2/health/ready?verbose", policy.ActionIndex}},
	serverMetadata:      {{"GET", "/v2", policy.ActionMetadata}},
	modelReady:          {{"GET", "/v2/models/MODEL/ready", policy.ActionReady}, {"GET", "/v2/models/MODEL/versions/1/ready", policy.ActionReady}},
	modelMetadata:       {{"GET", "/v2/models/MODEL", policy.ActionMetadata}, {"GET", "/v2/models/MODEL/versions/1", policy.ActionMetadata}},
	modelConfig:         {{"GET", "/v2/models/MODEL/config", policy.ActionConfig}, {"GET", "/v2/models/MODEL/versions/1/config", policy.ActionConfig}},
	modelStats:          {{"GET", "/v2/models/MODEL/stats", policy.ActionStatistics}, {"GET", "/v2/models/stats", policy.ActionStatistics}},
	modelInfer:          {{"POST", "/v2/models/MODEL/infer", policy.ActionInfer}, {"POST", "/v2/models/MODEL/versions/1/infer", policy.ActionInfer}},
	modelGenerate:       {{"POST", "/v2/models/MODEL/generate", policy.ActionInfer}},
	modelGenerateStream: {{"POST", "/v2/models/MODEL/generate_stream", policy.ActionInfer}},
	repositoryIndex:     {{"POST", "/v2/repository/index", policy.ActionIndex}, {"POST", "/v2/repository/r/index", policy.ActionIndex}},
	repositoryLoad:      {{"POST", "/v2/repository/models/MODEL/load", policy.ActionLoad}, {"POST", "/v2/repository/r/models/MODEL/load", policy.ActionLoad}},
	repositoryUnload:    {{"POST", "/v2/repository/models/MODEL/unload", policy.ActionLoad}},
	systemStatus:        {{"GET", "/v2/systemsharedmemory/status", policy.ActionSharedMemory}, {"GET", "/v2/systemsharedmemory/region/r/status", policy.ActionSharedMemory}},
	systemRegister:      {{"POST", "/v2/systemsharedmemory/region/r/register", policy.ActionSharedMemory}},
	systemUnregister:    {{"POST", "/v2/systemsharedmemory/unregister", policy.ActionSharedMemory}},
	cudaStatus:          {{"GET", "/v2/cudasharedmemory/status", policy.ActionSharedMemory}},
	cudaRegister:        {{"POST", "/v2/cudasharedmemory/region/r/register", policy.ActionSharedMemory}},
	cudaUnregister:      {{"POST", "/v2/cudasharedmemory/region/r/unregister", policy.ActionSharedMemory}},
	traceSetting: {
		{"GET", "/v2/trace/setting", policy.ActionSettings},
		{"POST", "/v2/trace/setting", policy.ActionSettings},
		{"GET", "/v2/models/MODEL/trace/setting", policy.ActionSettings},
		{"POST", "/v2/models/MODEL/trace/setting", policy.ActionSettings},
	},
	logSettings: {{"GET", "/v2/logging", policy.ActionSettings}, {"POST", "/v2/logging", policy.ActionSettings}},
	trafficRules: {
		{"GET", "/v2/repository/models/MODEL/traffic", policy.ActionTraffic},
		{"POST", "/v2/repository/models/MODEL/traffic", policy.ActionTraffic},
		{"DELETE", "/v2/repository/models/MODEL/traffic", policy.ActionTraffic},
	},
	trafficList:     {{"GET", "/v2/repository/traffic", policy.ActionTraffic}},
	trafficDiffs:    {{"GET", "/v2/repository/models/MODEL/traffic/diffs", policy.ActionTraffic}},
	trafficPromote:  {{"POST", "/v2/repository/models/MODEL/traffic/promote", policy.ActionTraffic}},
	trafficRollback: {{"POST", "/v2/repository/models/MODEL/traffic/rollback", policy.ActionTraffic}},
	fleetState:      {{"GET", "/v2/repository/state", policy.ActionState}, {"PUT", "/v2/repository/state", policy.ActionState}},
}

// RouteSamples returns requests of all endpoints.
func RouteSamples() (all []RouteSample) {
	for _, samples := range routeSamples {
		all = append(all, samples...)
	}
	return all
}

// TestEveryRouteHasAnAction fails for a new endpoint until somebody decides who may call it.
func TestEveryRouteHasAnAction(t *testing.T) {
	t.Parallel()
	for to := none + 1; to < endpointCount; to++ {
		require.NotEqual(t, policy.ActionNone, needs[to].action, "endpoint %d has no action", to)
		require.NotEmpty(t, routeSamples[to], "endpoint %d has no sample", to)
		for _, s := range routeSamples[to] {
			path := s.Path
			if path == "/v2/health/ready?verbose" {
				continue
			}
			r, ok := parse(path)
			require.True(t, ok && r.to == to && r.methods.allows(s.Method), path)
			require.Equal(t, needs[to].action, s.Action, path)
		}
	}
}
