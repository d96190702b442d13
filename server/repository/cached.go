package repository

import (
	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/infer"
)

// singleFlight is the parameter of a model's configuration that makes equal
// requests wait for the one that is computed.
const singleFlight = "response_cache_single_flight"

// cached puts the response cache in front of a version's runner, if the server
// has one and the model asks for it. The engine has read the model's files.
func (r *Repository) cached(v *version, next infer.Runner) (infer.Runner, error) {
	if r.opts.Cache == nil || !v.config.GetResponseCache().GetEnable() {
		return next, nil
	}
	if v.config.GetModelTransactionPolicy().GetDecoupled() { // known of ensembles only now
		return nil, status.New(status.InvalidArg,
			"Response Cache does not currently support model %s with 'decoupled' transaction policy. Please disable the response cache.", v.model)
	}
	scope := v.print.of(v)
	if v.print.why != nil {
		r.opts.Log.Warn("cached responses of this load will not be found by any other", "model", v.label, "version", v.number, "reason", v.print.why)
	}
	return cache.New(next, cache.Options{
		Cache: r.opts.Cache, Scope: scope, Steady: v.steady, Pool: v.pool, Stats: v.stats, Log: r.opts.Log,
		SingleFlight: v.config.GetParameters()[singleFlight].GetStringValue() == "true",
		Ordered:      v.config.GetDynamicBatching().GetPreserveOrdering(),
	}), nil
}
