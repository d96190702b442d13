package platform

import (
	"net/http"

	"triton/server/access"
	"triton/server/access/policy"
	"triton/server/http1"
	"triton/server/httpapi"
)

// admit asks the guard about a call of a multi-model endpoint. A caller needs the right for all
// models: a load says in its body only which model it is about. It sends the refusal.
func (h *sageMaker) admit(x *http1.Exchange) (access.Entry, bool) {
	action := policy.ActionLoad
	if x.Method == http.MethodGet {
		action = policy.ActionIndex
	}
	if h.RefuseControl {
		refuse(x, http.StatusForbidden, access.Elsewhere)
		return access.Entry{}, false
	}
	_, entry, ok := httpapi.Admit(h.Guard, x, &access.Call{Action: action, Every: true})
	if !ok {
		x.Send()
	}
	return entry, ok
}

// admitUnknown asks the guard about an inference with a model that the platform has not loaded,
// so that only those who may infer learn that.
func (h *sageMaker) admitUnknown(x *http1.Exchange, name string) bool {
	_, entry, ok := httpapi.Admit(h.Guard, x, &access.Call{Action: policy.ActionInfer, Model: name})
	if !ok {
		x.Send()
		return false
	}
	entry.End("404", "")
	return true
}

// checkKnown asks the guard about an inference with a model that the platform has loaded, before
// anything of the request is read or another target is chosen: mistakes in the request would
// otherwise tell that the model exists. The KServe API admits the request.
func (h *sageMaker) checkKnown(x *http1.Exchange, m loadedModel) bool {
	ok := httpapi.Check(h.Guard, x, access.Call{Action: policy.ActionInfer, Model: m.target})
	if !ok {
		x.Send()
	}
	return ok
}
