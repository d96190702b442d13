package httpapi

// sample decides whether the request for a model is traced.
func (x *exchange) sample(model string) {
	if x.api.tracing.Active() {
		x.trace = x.api.tracing.Sample(model, x.carrier, x.began, 0)
	}
}

// answered records when the model's first response was complete, where at 0 stands for now, and
// that the reply begins.
func (x *exchange) answered(at int64) {
	x.trace.Answered(at)
	x.trace.Sending()
}

// finish ends the trace and logs the request, after its reply was written.
func (x *exchange) finish() {
	x.trace.Sent()
	x.trace.Close()
	x.logAccess()
}
