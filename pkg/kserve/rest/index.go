package rest

import "triton/pkg/status"

// DecodeIndexRequest reads the body of a repository index request: whether only
// ready models are asked for.
func DecodeIndexRequest(text []byte) (readyOnly bool, err error) {
	var r reader
	r.reset(text)
	if !r.document() {
		return false, r.err()
	}
	r.reset(text)
	r.space()
	if !r.find(r.i, "ready") {
		return false, nil
	}
	v, ok := r.bool()
	if !ok {
		return false, status.New(status.InvalidArg, "Invalid value for 'ready': expected a boolean")
	}
	return v, nil
}
