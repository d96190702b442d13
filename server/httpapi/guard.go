package httpapi

import (
	"net/http"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/server/access"
	"triton/server/access/policy"
	"triton/server/frontend"
	"triton/server/http1"
	"triton/server/infer"
	"triton/server/shm"
)

// actions are the rights that the endpoints need. An endpoint without an entry is refused.
var actions = [...]policy.Action{
	serverLive: policy.ActionHealth, serverReady: policy.ActionHealth, modelReady: policy.ActionReady,
	serverMetadata: policy.ActionMetadata, modelMetadata: policy.ActionMetadata,
	modelConfig: policy.ActionConfig, modelStats: policy.ActionStatistics,
	modelInfer: policy.ActionInfer, modelGenerate: policy.ActionInfer, modelGenerateStream: policy.ActionInfer,
	repositoryIndex: policy.ActionIndex, repositoryLoad: policy.ActionLoad, repositoryUnload: policy.ActionLoad,
	trafficRules: policy.ActionTraffic, trafficList: policy.ActionTraffic, trafficDiffs: policy.ActionTraffic,
	trafficPromote: policy.ActionTraffic, trafficRollback: policy.ActionTraffic,
	systemStatus: policy.ActionSharedMemory, systemRegister: policy.ActionSharedMemory, systemUnregister: policy.ActionSharedMemory,
	cudaStatus: policy.ActionSharedMemory, cudaRegister: policy.ActionSharedMemory, cudaUnregister: policy.ActionSharedMemory,
	traceSetting: policy.ActionSettings, logSettings: policy.ActionSettings, fleetState: policy.ActionState,
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
	action := policy.ActionNone
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
		action = policy.ActionIndex // the reasons name models
	}
	call := access.Call{Action: action, Model: r.model, Version: r.version}
	session, entry, ok := Admit(o.Guard, x.Exchange, &call)
	if !ok {
		return false
	}
	x.admitted = &admission{session, call, entry}
	x.countFor(session.Account())
	state, quotas := entry.RateLimit()
	addRateLimit(x.Exchange, state, quotas)
	x.decoder.Regions = o.Regions
	if action == policy.ActionInfer && !session.May(policy.ActionSharedMemory, "", "") {
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
	if x.admitted == nil || !x.admitted.Filters(policy.ActionIndex) {
		return list
	}
	return frontend.FilterIndex(list, func(model, version string) bool { return x.admitted.May(policy.ActionIndex, model, version) })
}

// visibleStatistics removes the statistics that the caller may not see.
func (x *exchange) visibleStatistics(s *inferencepb.ModelStatisticsResponse) *inferencepb.ModelStatisticsResponse {
	if x.admitted == nil || !x.admitted.Filters(policy.ActionStatistics) {
		return s
	}
	return frontend.FilterStatistics(s, func(model, version string) bool { return x.admitted.May(policy.ActionStatistics, model, version) })
}
