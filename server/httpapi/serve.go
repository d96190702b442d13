package httpapi

import "runtime/debug"

// serve answers the exchange's request.
func (a *api) serve(x *exchange) {
	r, ok := parse(x.path)
	if !ok {
		x.refuse(404, "Not Found")
		return
	}
	x.model = r.model
	if a.cors(x, &r) || !x.permits(r.to) {
		return
	}
	switch r.to {
	case serverLive, serverReady, modelReady, modelInfer:
	default:
		x.form = jsonText
	}
	if !r.allows(x.method) {
		x.say("Allow", r.methods())
		x.refuse(405, "Method Not Allowed")
		return
	}
	if err := a.call(x, &r); err != nil {
		x.fail(err)
	}
}

// call does what an endpoint is for.
func (a *api) call(x *exchange, r *route) error {
	var err error
	switch r.to {
	case serverLive:
		err = a.health(x, a.svc.Live())
	case serverReady:
		err = a.health(x, a.svc.Ready())
	case modelReady:
		err = a.modelReady(r)
	case serverMetadata:
		x.text = appendServerMetadata(x.text[:0], a.svc.Metadata())
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
	case modelInfer:
		err = a.infer(x, r)
	case modelGenerate:
		err = a.generate(x, r)
	case modelGenerateStream:
		err = a.generateStream(x, r)
	}
	return err
}

// panicked notes where a request went wrong. Only its connection ends.
func (a *api) panicked(p any) {
	a.log.Error("panic while serving HTTP", "panic", p, "stack", string(debug.Stack()))
}
