package model

import (
	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/infer"
)

// singleFlight is the configuration parameter that makes equal requests wait for the first
// one's response.
const singleFlight = "response_cache_single_flight"

// cached puts the response cache in front of a version's runner, if the server has one and
// the configuration enables it.
func (b *Builder) cached(v *LoadedVersion, next infer.Runner) (infer.Runner, error) {
	if b.opts.Cache == nil || !v.config.GetResponseCache().GetEnable() {
		return next, nil
	}
	if v.config.Decoupled() { // an ensemble's policy follows from its composing models, so it is known only now
		return nil, status.New(status.InvalidArg,
			"Response Cache does not currently support model %s with 'decoupled' transaction policy. Please disable the response cache.", v.model)
	}
	scope := v.fingerprint.Text()
	if why := v.fingerprint.RandomReason(); why != nil {
		v.log.Warn("the cached responses of this model version will not be used after it is loaded again", "model", v.label, "version", v.number, "reason", why)
	}
	return cache.New(next, cache.Options{
		Cache: b.opts.Cache, Scope: scope, ScopeValid: v.matchesFingerprint, Pool: v.pool, Stats: v.stats, Log: v.log,
		SingleFlight: v.config.GetParameters()[singleFlight].GetStringValue() == "true",
		Ordered:      v.config.GetDynamicBatching().GetPreserveOrdering(),
	}), nil
}
