package httpapi

import (
	"triton/pkg/status"
)

// serve answers the exchange's request.
func (a *api) serve(x *exchange) {
	r, ok := parse(x.path)
	if !ok {
		x.refuse(404, "Not Found")
		return
	}
	switch r.to {
	case serverLive, serverReady, modelReady, modelInfer:
	default:
		x.form = jsonText
	}
	// An unsupported path may allow more methods than the two known here.
	if r.to != unsupported && !r.allows(x.method) {
		x.refuse(405, "Method Not Allowed")
		return
	}
	var err error
	switch r.to {
	case serverLive:
		err = a.health(x, a.svc.Live())
	case serverReady:
		err = a.health(x, a.svc.Ready())
	case modelReady:
		err = a.modelReady(&r)
	case serverMetadata:
		x.text = appendServerMetadata(x.text[:0], a.svc.Metadata())
	case modelMetadata:
		err = a.modelMetadata(x, &r)
	case modelConfig:
		err = a.modelConfig(x, &r)
	case modelStats:
		err = a.statistics(x, &r)
	case repositoryIndex:
		err = a.index(x)
	case modelInfer:
		err = a.infer(x, &r)
	default:
		err = status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
	}
	if err != nil {
		x.fail(err)
	}
}
