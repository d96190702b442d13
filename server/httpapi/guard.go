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

// permission is what a guard has decided about the caller of a request.
type permission struct {
	access.Session
	call  access.Call
	entry access.Entry
}

// noRegions is the shared memory of callers that may not use any.
var noRegions = shm.New(shm.Options{})

// admit asks the guard about the request. A refusal is the reply already.
func (x *exchange) admit(r *route) bool {
	o := &x.api.opts
	action := needs[r.to].action
	if o.RefuseControl && action.Control() {
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
	x.permission = &permission{session, call, entry}
	x.countFor(session.Account())
	state, quotas := entry.RateLimit()
	addRateLimit(x.Exchange, state, quotas)
	x.decoder.Regions = o.Regions
	if action == policy.ActionInfer && !session.May(policy.ActionSharedMemory, "", "") {
		x.decoder.Regions = noRegions
	}
	return true
}

// chargeQuotas charges the quotas of the caller with the rows of a request, and with its bytes if they were not known
// before. Queues learn who the caller is.
func (x *exchange) chargeQuotas(m infer.Model, req *infer.Request) {
	if x.permission == nil {
		return
	}
	unannounced := int64(0)
	if x.Length < 0 {
		unannounced = x.received
	}
	x.permission.entry.Spend(infer.RowsOf(m, req), unannounced)
	req.Caller = x.permission.entry.Caller()
}

// follow ends a stream whose caller is no longer admitted. The returned function is to be called when
// the stream ends by itself.
func (x *exchange) follow(q *streamBacklog) (forget func()) {
	if x.permission == nil {
		return func() {}
	}
	return x.permission.Follow(x.permission.call, q)
}

// endPermission records the end of a request.
func (x *exchange) endPermission() {
	if x.permission != nil {
		x.permission.entry.End(strconv.Itoa(x.Status), x.id)
	}
}

// visible removes the models of a list that the caller may not see.
func (x *exchange) visible(list *inferencepb.RepositoryIndexResponse) *inferencepb.RepositoryIndexResponse {
	if x.permission == nil || !x.permission.Filters(policy.ActionIndex) {
		return list
	}
	return frontend.FilterIndex(list, func(model, version string) bool { return x.permission.May(policy.ActionIndex, model, version) })
}

// visibleStatistics removes the statistics that the caller may not see.
func (x *exchange) visibleStatistics(s *inferencepb.ModelStatisticsResponse) *inferencepb.ModelStatisticsResponse {
	if x.permission == nil || !x.permission.Filters(policy.ActionStatistics) {
		return s
	}
	return frontend.FilterStatistics(s, func(model, version string) bool { return x.permission.May(policy.ActionStatistics, model, version) })
}
