package httpapi

import (
	"triton/server/frontend"
	"triton/server/http1"
)

// Serve answers a request.
func (a *api) Serve(in *http1.Exchange) {
	x := a.begin(in)
	defer x.end()
	a.serve(x)
	x.reply()
	x.finish()
}

// serve makes the reply.
func (a *api) serve(x *exchange) {
	x.logRequest()
	r, ok := parse(x.Path)
	if !ok {
		x.logNoRoute()
		x.refuse(404, "Not Found")
		return
	}
	x.model = r.model
	// In this order: CORS answers preflights, the endpoint's category may need a secret header (Triton's
	// restriction), then the guard decides about the caller.
	if a.cors(x, &r) || !x.hasSecret(r.to) || !x.admit(&r) {
		return
	}
	switch r.to {
	case serverLive, serverReady, modelReady, modelInfer:
	default:
		x.ContentType = http1.JSON
	}
	if !r.methods.allows(x.Method) {
		x.addHeader("Allow", r.methods.header())
		x.refuse(405, "Method Not Allowed")
		return
	}
	if r.to == fleetState && a.opts.State == nil {
		x.refuse(404, "Not Found")
		return
	}
	err := r.checkNames()
	if err == nil {
		err = a.dispatch(x, &r)
	}
	if err != nil {
		switch r.to {
		case modelInfer, modelGenerate, modelGenerateStream:
			x.logFailed(err)
		}
		x.fail(err)
	}
}

// dispatch calls the function of an endpoint.
func (a *api) dispatch(x *exchange, r *route) error {
	var err error
	switch r.to {
	case serverLive:
		err = a.health(x, a.svc.Live())
	case serverReady:
		err = a.health(x, a.svc.Ready())
	case modelReady:
		err = a.modelReady(r)
	case serverMetadata:
		x.Text = frontend.AppendServerMetadata(x.Text[:0], a.svc.Metadata())
	case modelMetadata:
		err = a.modelMetadata(x, r)
	case modelConfig:
		err = a.modelConfig(x, r)
	case modelStats:
		err = a.statistics(x, r)
	case repositoryIndex:
		err = a.index(x)
	case repositoryLoad:
		err = a.load(x, r)
	case repositoryUnload:
		err = a.unload(x, r)
	case systemStatus, systemRegister, systemUnregister:
		err = a.systemMemory(x, r)
	case cudaStatus, cudaRegister, cudaUnregister:
		err = a.cudaMemory(x, r)
	case traceSetting:
		err = a.traceSetting(x, r)
	case logSettings:
		err = a.logSettings(x)
	case trafficRules, trafficList, trafficDiffs, trafficPromote, trafficRollback:
		err = a.traffic(x, r)
	case fleetState:
		err = a.state(x)
	case modelInfer:
		err = a.infer(x, r)
	case modelGenerate:
		err = a.generate(x, r)
	case modelGenerateStream:
		err = a.generateStream(x, r)
	}
	return err
}
