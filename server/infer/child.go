package infer

// Child returns a request that a model makes while it serves r. It has r's id, sequence,
// priority, timeout, caller and parameters, and its trace is a child of r's; the caller sets
// model, inputs and outputs. If r is already cancelled, so is the child.
func (r *Request) Child() *Request {
	var c *Request
	if r.pooled {
		c = NewRequest()
	} else {
		c = NewUnpooled()
	}
	c.ID = r.ID
	c.SequenceID, c.SequenceIDStr = r.SequenceID, r.SequenceIDStr
	c.SequenceStart, c.SequenceEnd = r.SequenceStart, r.SequenceEnd
	c.Priority, c.TimeoutMicros = r.Priority, r.TimeoutMicros
	c.Caller = r.Caller
	c.Parameters = append(c.Parameters, r.Parameters...)
	if r.Trace != nil {
		c.Trace = r.childTrace()
	}
	if r.Cancelled() {
		c.Cancel()
	}
	return c
}
