package httpapi

import "triton/server/infer"

// forward makes the headers that match the server's pattern parameters of the request.
func (x *exchange) forward(req *infer.Request) error {
	pattern := x.api.opts.Forward
	if pattern == nil {
		return nil
	}
	return x.Each(func(name, value string) error {
		if !pattern.MatchString(name) {
			return nil
		}
		return req.Forward(name, value)
	})
}
