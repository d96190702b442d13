package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/access/right"
)

// RouteSample is a request of an endpoint; its model, if it has one, is MODEL.
type RouteSample struct {
	Method, Path string
	Action       right.Action
}

// routeSamples has requests of every endpoint. TestEveryRouteHasAnAction fails without.
var routeSamples = [endpointCount][]RouteSample{
	serverLive:          {{"GET", "/v2/health/live", right.Health}},
	serverReady:         {{"GET", "/v2/health/ready", right.Health}, {"GET", "/v2/health/ready?verbose", right.Index}},
	serverMetadata:      {{"GET", "/v2", right.Metadata}},
	modelReady:          {{"GET", "/v2/models/MODEL/ready", right.Ready}, {"GET", "/v2/models/MODEL/versions/1/ready", right.Ready}},
	modelMetadata:       {{"GET", "/v2/models/MODEL", right.Metadata}, {"GET", "/v2/models/MODEL/versions/1", right.Metadata}},
	modelConfig:         {{"GET", "/v2/models/MODEL/config", right.Config}, {"GET", "/v2/models/MODEL/versions/1/config", right.Config}},
	modelStats:          {{"GET", "/v2/models/MODEL/stats", right.Statistics}, {"GET", "/v2/models/stats", right.Statistics}},
	modelInfer:          {{"POST", "/v2/models/MODEL/infer", right.Infer}, {"POST", "/v2/models/MODEL/versions/1/infer", right.Infer}},
	modelGenerate:       {{"POST", "/v2/models/MODEL/generate", right.Infer}},
	modelGenerateStream: {{"POST", "/v2/models/MODEL/generate_stream", right.Infer}},
	repositoryIndex:     {{"POST", "/v2/repository/index", right.Index}, {"POST", "/v2/repository/r/index", right.Index}},
	repositoryLoad:      {{"POST", "/v2/repository/models/MODEL/load", right.Load}, {"POST", "/v2/repository/r/models/MODEL/load", right.Load}},
	repositoryUnload:    {{"POST", "/v2/repository/models/MODEL/unload", right.Load}},
	systemStatus:        {{"GET", "/v2/systemsharedmemory/status", right.SharedMemory}, {"GET", "/v2/systemsharedmemory/region/r/status", right.SharedMemory}},
	systemRegister:      {{"POST", "/v2/systemsharedmemory/region/r/register", right.SharedMemory}},
	systemUnregister:    {{"POST", "/v2/systemsharedmemory/unregister", right.SharedMemory}},
	cudaStatus:          {{"GET", "/v2/cudasharedmemory/status", right.SharedMemory}},
	cudaRegister:        {{"POST", "/v2/cudasharedmemory/region/r/register", right.SharedMemory}},
	cudaUnregister:      {{"POST", "/v2/cudasharedmemory/region/r/unregister", right.SharedMemory}},
	traceSetting: {
		{"GET", "/v2/trace/setting", right.Settings},
		{"POST", "/v2/trace/setting", right.Settings},
		{"GET", "/v2/models/MODEL/trace/setting", right.Settings},
		{"POST", "/v2/models/MODEL/trace/setting", right.Settings},
	},
	logSettings: {{"GET", "/v2/logging", right.Settings}, {"POST", "/v2/logging", right.Settings}},
	trafficRules: {
		{"GET", "/v2/repository/models/MODEL/traffic", right.Traffic},
		{"POST", "/v2/repository/models/MODEL/traffic", right.Traffic},
		{"DELETE", "/v2/repository/models/MODEL/traffic", right.Traffic},
	},
	trafficList:     {{"GET", "/v2/repository/traffic", right.Traffic}},
	trafficDiffs:    {{"GET", "/v2/repository/models/MODEL/traffic/diffs", right.Traffic}},
	trafficPromote:  {{"POST", "/v2/repository/models/MODEL/traffic/promote", right.Traffic}},
	trafficRollback: {{"POST", "/v2/repository/models/MODEL/traffic/rollback", right.Traffic}},
	fleetState:      {{"GET", "/v2/repository/state", right.State}, {"PUT", "/v2/repository/state", right.State}},
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
	require.Len(t, actions, int(endpointCount))
	for to := none + 1; to < endpointCount; to++ {
		require.NotEqual(t, right.None, actions[to], "endpoint %d has no action", to)
		require.NotEmpty(t, routeSamples[to], "endpoint %d has no sample", to)
		for _, s := range routeSamples[to] {
			path := s.Path
			if path == "/v2/health/ready?verbose" {
				continue
			}
			r, ok := parse(path)
			require.True(t, ok && r.to == to && r.allows(s.Method), path)
			require.Equal(t, actions[to], s.Action, path)
		}
	}
}
