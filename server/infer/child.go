package infer

// Child returns a request that a model makes while it serves r, traced below r. It copies
// r's id, sequence, priority, timeout and parameters; the caller sets model, inputs and
// outputs. It is cancelled if r is.
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
	c.Parameters = append(c.Parameters, r.Parameters...)
	if r.Trace != nil {
		c.Trace = r.childTrace()
	}
	if r.Cancelled() {
		c.Cancel()
	}
	return c
}
