package memory

// Uncounted is the size in bytes up to which the memory of a compressed reply, and of the reply of a call that is no
// inference, is not counted.
const Uncounted = 16 << 10

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
	besides := max(c.bytes, c.will-n) // what the request holds, or will hold, besides these
	if err := c.budget.Take(c.kind, n, besides); err != nil {
		return err
	}
	if err := c.caller.take(c.kind, n, c.bytes+c.held); err != nil {
		c.budget.Return(c.kind, n)
		return err
	}
	c.bytes += n
	return nil
}

// TakeForCaller counts n more bytes for the caller alone: those of buffers, whose pool counts them in the
// budget.
func (c *Charge) TakeForCaller(n int) error {
	if c.caller == nil || n <= 0 {
		return nil
	}
	if err := c.caller.take(Tensors, n, c.bytes+c.held); err != nil {
		return err
	}
	c.held += n
	return nil
}

// ReturnForCaller ends the count of n bytes that TakeForCaller has counted.
func (c *Charge) ReturnForCaller(n int) {
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
	c.ReturnForCaller(c.held)
	c.will = 0
}
