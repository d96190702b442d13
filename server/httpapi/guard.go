package httpapi

import (
	"net/http"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/access"
	"triton/server/access/httpguard"
	"triton/server/access/right"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/shm"
)

// actions are the rights that the endpoints need. An endpoint without an entry is refused.
var actions = [...]right.Action{
	serverLive: right.Health, serverReady: right.Health, modelReady: right.Ready,
	serverMetadata: right.Metadata, modelMetadata: right.Metadata,
	modelConfig: right.Config, modelStats: right.Statistics,
	modelInfer: right.Infer, modelGenerate: right.Infer, modelGenerateStream: right.Infer,
	repositoryIndex: right.Index, repositoryLoad: right.Load, repositoryUnload: right.Load,
	trafficRules: right.Traffic, trafficList: right.Traffic, trafficDiffs: right.Traffic,
	trafficPromote: right.Traffic, trafficRollback: right.Traffic,
	systemStatus: right.SharedMemory, systemRegister: right.SharedMemory, systemUnregister: right.SharedMemory,
	cudaStatus: right.SharedMemory, cudaRegister: right.SharedMemory, cudaUnregister: right.SharedMemory,
	traceSetting: right.Settings, logSettings: right.Settings, fleetState: right.State,
}

// admission is a request that a guard has admitted.
type admission struct {
	access.Session
	call  access.Call
	entry access.Entry
}

// noRegions is the shared memory of callers that may not use any.
var noRegions = shm.New(shm.Options{})

// admit asks the guard about the request. A refusal is the reply already.
func (x *exchange) admit(r *route) bool {
	o := &x.api.opts
	action := right.None
	if int(r.to) < len(actions) {
		action = actions[r.to]
	}
	if o.Data && action.Control() {
		x.ContentType = http1.JSON
		x.refuse(http.StatusForbidden, access.Elsewhere.Msg)
		return false
	}
	if o.Guard == nil {
		return true
	}
	if r.to == serverReady && x.verbose() {
		action = right.Index // the reasons name models
	}
	call := access.Call{Action: action, Model: r.model, Version: r.version}
	session, entry, ok := httpguard.Admit(o.Guard, x.Exchange, &call)
	if !ok {
		return false
	}
	x.admitted = &admission{session, call, entry}
	x.countFor(session.Account())
	state, quotas := entry.RateLimit()
	httpguard.AddRateLimit(x.Exchange, state, quotas)
	x.decoder.Regions = o.Regions
	if action == right.Infer && !session.May(right.SharedMemory, "", "") {
		x.decoder.Regions = noRegions
	}
	return true
}

// count counts a request whose body was read in the quotas of its caller, and tells queues who that is.
func (x *exchange) count(m infer.Model, req *infer.Request) {
	if x.admitted == nil {
		return
	}
	late := int64(0)
	if x.Length < 0 { // it was not known before
		late = x.received
	}
	x.admitted.entry.Charge(infer.RowsOf(m, req), late)
	req.Caller = x.admitted.entry.Caller()
}

// follow ends a stream whose caller is no longer admitted. The returned function is to be called when
// the stream ends by itself.
func (x *exchange) follow(q *streamBacklog) (forget func()) {
	if x.admitted == nil {
		return func() {}
	}
	return x.admitted.Follow(x.admitted.call, q)
}

// endAdmission records the end of an admitted request.
func (x *exchange) endAdmission() {
	if x.admitted != nil {
		x.admitted.entry.End(strconv.Itoa(x.Status), x.id)
	}
}

// visible removes the models of a list that the caller may not see.
func (x *exchange) visible(list *inferencepb.RepositoryIndexResponse) *inferencepb.RepositoryIndexResponse {
	if x.admitted == nil || !x.admitted.Filters(right.Index) {
		return list
	}
	return frontend.FilterIndex(list, func(model, version string) bool { return x.admitted.May(right.Index, model, version) })
}

// visibleStatistics removes the statistics that the caller may not see.
func (x *exchange) visibleStatistics(s *inferencepb.ModelStatisticsResponse) *inferencepb.ModelStatisticsResponse {
	if x.admitted == nil || !x.admitted.Filters(right.Statistics) {
		return s
	}
	return frontend.FilterStatistics(s, func(model, version string) bool { return x.admitted.May(right.Statistics, model, version) })
}
