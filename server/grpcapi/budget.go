package grpcapi

import (
	"context"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"

	"triton/server/access/policy"
	"triton/server/connlimit"
	"triton/server/memory"
)

// connBudget limits the memory of the messages of one connection. A message is charged while it is
// read and until its call has ended, so requests that wait for their model count, to the connection
// and to the memory for requests. The budget is stored as the AuthInfo of the connection, because
// gRPC keeps no other data of a server for a connection.
type connBudget struct {
	credentials.AuthInfo
	limit int64 // bytes; 0: only requests limits them
	used  atomic.Int64
	// reserved are bytes of contents that arrive, see messageReader.reserve.
	reserved atomic.Int64
	memory   *memory.Budget
	pace     pace
	peer     *policy.Principal // who the connection proves; nil: nobody
	use      *connlimit.Conn   // counts the calls in flight; may be nil
	idle     *idleCalls        // of all connections; may be nil
}

// take reports whether n more bytes fit, and charges them if they do.
func (c *connBudget) take(n int) bool {
	if c.limit == 0 {
		c.used.Add(int64(n))
		return true
	}
	for {
		used := c.used.Load()
		if int64(n) > c.limit-used {
			return false
		}
		if c.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// budgetCredentials makes the budget of each connection. It wraps the transport credentials.
type budgetCredentials struct {
	credentials.TransportCredentials
	opts *Options
	idle *idleCalls
	// heads: the transport has no limits for headers.
	heads bool
}

func newBudgetCredentials(o *Options, heads bool) credentials.TransportCredentials {
	inner := o.Credentials
	if inner == nil {
		inner = insecure.NewCredentials()
	}
	return &budgetCredentials{inner, o, &idleCalls{memory: o.Memory}, heads}
}

// ServerHandshake is called once for each connection. The transport reads the connection that it returns.
func (b *budgetCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := b.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	var who *policy.Principal
	if b.opts.Guard != nil {
		who = connectionPeer(raw, info)
	}
	var use *connlimit.Conn
	if counted, ok := raw.(interface{ Use() *connlimit.Conn }); ok {
		use = counted.Use()
	}
	budget := &connBudget{
		AuthInfo: info, limit: b.opts.MaxReceiveConn, memory: b.opts.Memory, peer: who, use: use, idle: b.idle,
		pace: pace{conn: raw, use: use, log: b.opts.Log},
	}
	if b.heads {
		conn = watchHeads(conn, raw, use, b.opts)
	}
	return conn, budget, nil
}

// Clone implements credentials.TransportCredentials.
func (b *budgetCredentials) Clone() credentials.TransportCredentials {
	return &budgetCredentials{b.TransportCredentials.Clone(), b.opts, b.idle, b.heads}
}

// connBudgetOf returns the budget of a call's connection. For a server that was not made with
// ServerOptions it returns a budget without limits.
func connBudgetOf(ctx context.Context) *connBudget {
	if p, ok := peer.FromContext(ctx); ok {
		if c, ok := p.AuthInfo.(*connBudget); ok {
			return c
		}
	}
	return &connBudget{}
}

// charge counts the bytes of one message.
type charge struct {
	conn     *connBudget
	memory   memory.Charge
	received int // bytes charged to the connection
}

func newCharge(conn *connBudget) charge {
	return charge{conn: conn, memory: conn.memory.NewCharge(memory.Messages)}
}

// Take implements rpc.Budget: it charges n more bytes. The error is the status of the call.
func (c *charge) Take(n int) error {
	if err := c.takeOfConn(n); err != nil {
		return err
	}
	if err := c.memory.Take(n); err != nil {
		c.conn.used.Add(-int64(n))
		c.received -= n
		return statusError(err)
	}
	return nil
}

// takeOfConn charges bytes whose memory is charged elsewhere.
func (c *charge) takeOfConn(n int) error {
	if !c.conn.take(n) {
		return grpcstatus.Errorf(codes.ResourceExhausted,
			"no memory for this message: the messages in flight of the connection may take %d bytes (--grpc-max-connection-receive-size)", c.conn.limit)
	}
	c.received += n
	return nil
}

// takeForCaller is takeOfConn for bytes whose memory a pool counts.
func (c *charge) takeForCaller(n int) error {
	if err := c.takeOfConn(n); err != nil {
		return err
	}
	if err := c.memory.TakeForCaller(n); err != nil {
		return statusError(err)
	}
	return nil
}

// release returns n bytes that Take has charged.
func (c *charge) release(n int) {
	c.memory.Return(n)
	c.conn.used.Add(-int64(n))
	c.received -= n
}

// end returns all bytes.
func (c *charge) end() {
	c.memory.End()
	if c.received > 0 {
		c.conn.used.Add(-int64(c.received))
		c.received = 0
	}
}

// move returns the charge, and leaves an empty one.
func (c *charge) move() charge {
	moved := *c
	*c = charge{conn: c.conn, memory: c.memory.Next()}
	return moved
}
