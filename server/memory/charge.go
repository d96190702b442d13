package memory

// Charge is what one request uses of a budget. The zero value without a budget counts nothing. It is
// not safe for concurrent use.
type Charge struct {
	budget *Budget
	caller *Caller
	kind   Kind
	bytes  int
	held   int // counted elsewhere in the budget, and here for the caller
	will   int // what the request will hold at least
}

// NewCharge returns an empty charge.
func (b *Budget) NewCharge(k Kind) Charge { return Charge{budget: b, kind: k} }

// For makes the charge one of a caller. It must be empty.
func (c *Charge) For(who *Caller) { c.caller = who }

// Next returns an empty charge of the same caller and kind.
func (c *Charge) Next() Charge { return Charge{budget: c.budget, caller: c.caller, kind: c.kind} }

// Expect tells that the request will hold n bytes at least. It returns an error if so many can
// never fit.
func (c *Charge) Expect(n int) error {
	c.will = n
	limit := c.budget.Limit()
	if limit == 0 {
		return nil
	}
	top := most(limit, n)
	if c.caller != nil {
		top = limit / 2
	}
	if int64(n) > top {
		c.budget.refused[c.kind].Add(1)
		return tooLarge(n, top)
	}
	return nil
}

// Take counts n more bytes.
func (c *Charge) Take(n int) error {
	if n == 0 {
		return nil
	}
	if err := c.budget.Take(c.kind, n, max(c.bytes, c.will-n)); err != nil {
		return err
	}
	if err := c.caller.take(c.kind, n, c.bytes+c.held); err != nil {
		c.budget.Return(c.kind, n)
		return err
	}
	c.bytes += n
	return nil
}

// Hold counts n more bytes for the caller alone: those of buffers, whose pool counts them in the
// budget.
func (c *Charge) Hold(n int) error {
	if c.caller == nil || n <= 0 {
		return nil
	}
	if err := c.caller.take(Tensors, n, c.bytes+c.held); err != nil {
		return err
	}
	c.held += n
	return nil
}

// Drop ends the count of n bytes that Hold has counted.
func (c *Charge) Drop(n int) {
	n = min(n, c.held)
	c.caller.add(-n)
	c.held -= n
}

// Bytes returns what is counted in the budget.
func (c *Charge) Bytes() int { return c.bytes }

// Return returns n bytes of those that Take has counted.
func (c *Charge) Return(n int) {
	c.budget.Return(c.kind, n)
	c.caller.add(-n)
	c.bytes -= n
}

// End returns all bytes.
func (c *Charge) End() {
	if c.bytes > 0 {
		c.Return(c.bytes)
	}
	c.Drop(c.held)
	c.will = 0
}
