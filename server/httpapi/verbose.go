package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/infer"
)

// methodNumbers are the numbers that Triton's log has in place of methods.
var methodNumbers = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, "MKCOL", "COPY", "MOVE",
	http.MethodOptions, "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", http.MethodTrace, http.MethodConnect, http.MethodPatch,
}

// target returns the method and path as Triton's log has them.
func (x *exchange) target() string {
	return strconv.Itoa(slices.Index(methodNumbers, x.Method)) + " " + x.Path
}

func (x *exchange) logRequest() {
	log.Lazy(x.api.log, 1, func() string { return "HTTP request: " + x.target() })
}

func (x *exchange) logNoRoute() {
	log.Lazy(x.api.log, 1, func() string { return "HTTP error: " + x.target() + " - 404" })
}

func (x *exchange) logFailed(err error) {
	log.Lazy(x.api.log, 1, func() string { return infer.Tag(x.id) + "Infer failed: " + status.From(err).Msg })
}
