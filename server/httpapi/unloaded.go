package httpapi

import (
	"time"

	"triton/server/infer"
)

// inferUnloaded runs an inference request for a model that Service.Model does not have, with the
// error cause. If requests load models, it reads the request before it waits for the load, so that
// the request's timeout and the end of its connection end the wait.
func (a *api) inferUnloaded(x *exchange, r *route, cause error) error {
	if !infer.LoadsOnDemand(a.svc) {
		return cause
	}
	body, textLen, err := x.receive()
	if err != nil {
		return err
	}
	defer body.Release()
	req, err := x.decode(r.model, r.version, body, textLen)
	if err != nil {
		return err
	}
	m, err := x.await(r, req.Timeout())
	if err != nil {
		req.Discard()
		return err
	}
	defer func() { m.Release() }() // m changes: choose
	err = x.forward(req)
	if err == nil && m.Config().Decoupled() {
		err = errDecoupled
	}
	if err != nil {
		req.Discard()
		return err
	}
	x.sample(m.Name()) // only now is the model known
	x.trace.Received()
	req.ModelName, req.ModelVersion = m.Name(), m.Version()
	m = x.chargeAndChoose(m, req)
	return x.run(m, req)
}

// await waits for the load of a model, no longer than limit unless that is 0.
func (x *exchange) await(r *route, limit time.Duration) (infer.Model, error) {
	x.Watch()
	defer x.Unwatch()
	return infer.AcquireWithin(x.Context, x.api.svc, r.model, r.version, limit)
}

// acquire returns the model of a request whose body was not read. If requests load models it waits
// for the load.
func (x *exchange) acquire(r *route) (infer.Model, error) {
	m, err := x.api.svc.Model(r.model, r.version)
	if err == nil || !infer.LoadsOnDemand(x.api.svc) {
		return m, err
	}
	return x.await(r, 0)
}
