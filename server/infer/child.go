package infer

// Child is a request that a model makes while it serves r, traced below r. It
// has r's id, sequence, priority, timeout and parameters; what it asks of which
// model is still to be said. It is cancelled if r is.
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
