package httpapi

import (
	"context"
	"time"

	"triton/server/http1"
	"triton/server/infer"
)

// inferUnloaded runs an inference request for a model that Service.Model does not have, with the
// error cause. If requests load models, it reads the request before it waits for the load, so that
// the request's timeout and the end of its connection end the wait.
func (a *api) inferUnloaded(x *exchange, r *route, cause error) error {
	d, ok := a.svc.(infer.OnDemand)
	if !ok || !d.OnDemand() {
		return cause
	}
	body, headerLen, err := x.receive()
	if err != nil {
		return err
	}
	defer body.Release()
	x.ContentType = http1.JSON
	req := infer.NewRequest()
	defer req.Release()
	req.ModelName, req.ModelVersion = r.model, r.version
	err = x.decode(req, body, headerLen)
	var m infer.Model
	if err == nil {
		m, err = x.await(d, r, req.Timeout(), cause)
	}
	if err != nil {
		req.Release() // the core's reference, which Infer would have released
		return err
	}
	defer func() { m.Release() }()
	err = x.forward(req)
	if err == nil && m.Config().GetModelTransactionPolicy().GetDecoupled() {
		err = errDecoupled
	}
	if err != nil {
		req.Release()
		return err
	}
	x.sample(m.Name())
	x.trace.Received()
	req.ModelName, req.ModelVersion = m.Name(), m.Version()
	x.trace.Attach(req)
	x.count(m, req)
	m = infer.ChooseBy(m, req, x)
	return x.run(m, req)
}

// await waits for the load of a model, no longer than limit unless that is 0.
func (x *exchange) await(d infer.OnDemand, r *route, limit time.Duration, cause error) (infer.Model, error) {
	ctx := x.Context
	if limit > 0 {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = within
	}
	x.Watch()
	defer x.Unwatch()
	return d.Await(ctx, r.model, r.version, cause)
}

// acquire returns the model of a request whose body was not read. If requests load models it waits
// for the load.
func (x *exchange) acquire(r *route) (infer.Model, error) {
	m, cause := x.api.svc.Model(r.model, r.version)
	if cause == nil {
		return m, nil
	}
	if d, ok := x.api.svc.(infer.OnDemand); ok && d.OnDemand() {
		return x.await(d, r, 0, cause)
	}
	return nil, cause
}
