package inferencepb

// Decoupled reports whether the model may send any number of responses to a request.
func (c *ModelConfig) Decoupled() bool { return c.GetModelTransactionPolicy().GetDecoupled() }
