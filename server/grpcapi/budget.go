package grpcapi

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"

	"triton/server/access/policy"
	"triton/server/connlimit"
)

// budget limits the memory of received messages, in bytes. A message is charged while
// it is read and until its call has ended, so requests that wait for their model count.
type budget struct {
	limit int64 // 0: unlimited
	used  atomic.Int64
}

// take reports whether n more bytes fit, and charges them if they do.
func (b *budget) take(n int) bool {
	if b.limit == 0 {
		b.used.Add(int64(n))
		return true
	}
	for {
		used := b.used.Load()
		if int64(n) > b.limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

func (b *budget) release(n int) { b.used.Add(-int64(n)) }

// connBudget is the budget of one connection within the budget of the server. It is stored
// as the AuthInfo of the connection, because gRPC keeps no other data of a server for a
// connection.
type connBudget struct {
	credentials.AuthInfo
	conn   budget
	server *budget
	pace   pace
	ahead  ahead
	peer   *policy.Principal // who the connection proves; nil: nobody
	use    *connlimit.Conn   // counts the calls in flight; may be nil
}

// take charges n bytes to the connection and to the server. The error is the status of
// the call.
func (a *connBudget) take(n int) error {
	if !a.conn.take(n) {
		return overBudget("connection", a.conn.limit, "--grpc-max-connection-receive-size")
	}
	if !a.server.take(n) {
		a.conn.release(n)
		return overBudget("server", a.server.limit, "--grpc-max-receive-size")
	}
	return nil
}

func (a *connBudget) release(n int) {
	a.conn.release(n)
	a.server.release(n)
}

func overBudget(whose string, limit int64, flag string) error {
	return grpcstatus.Errorf(codes.ResourceExhausted,
		"no memory for this message: the messages in flight of the %s may take %d bytes (%s)", whose, limit, flag)
}

// budgetCredentials makes the budget of each connection. It wraps the transport credentials.
type budgetCredentials struct {
	credentials.TransportCredentials
	connection int64 // limit for each
	server     *budget
	ahead      *budget // of the server
	log        *slog.Logger
	guarded    bool
}

func newBudgetCredentials(o *Options) credentials.TransportCredentials {
	inner := o.Credentials
	if inner == nil {
		inner = insecure.NewCredentials()
	}
	return &budgetCredentials{
		inner, o.MaxReceiveConn, &budget{limit: o.MaxReceiveAll}, &budget{limit: lower(o.MaxReceiveAll, maxAheadAll)},
		o.Log, o.Guard != nil,
	}
}

// ServerHandshake is called once for each connection.
func (a *budgetCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := a.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	var who *policy.Principal
	if a.guarded {
		who = connectionPeer(raw, info)
	}
	var use *connlimit.Conn
	if counted, ok := raw.(interface{ Use() *connlimit.Conn }); ok {
		use = counted.Use()
	}
	return conn, &connBudget{
		AuthInfo: info, conn: budget{limit: a.connection}, server: a.server, peer: who, use: use,
		pace:  pace{conn: raw, log: a.log},
		ahead: ahead{conn: budget{limit: lower(a.connection, maxAheadConn)}, server: a.ahead},
	}, nil
}

// Clone implements credentials.TransportCredentials.
func (a *budgetCredentials) Clone() credentials.TransportCredentials {
	return &budgetCredentials{a.TransportCredentials.Clone(), a.connection, a.server, a.ahead, a.log, a.guarded}
}

// connBudgetOf returns the budget of a call's connection. For a server that was not made with
// ServerOptions it returns a budget without limits.
func connBudgetOf(ctx context.Context) *connBudget {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.AuthInfo.(*connBudget); ok {
			return a
		}
	}
	return &connBudget{server: &budget{}, ahead: ahead{server: &budget{}}}
}

// useOf returns what counts the calls in flight of a call's connection; nil: nothing does.
func useOf(ctx context.Context) *connlimit.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.AuthInfo.(*connBudget); ok {
			return a.use
		}
	}
	return nil
}

// charge counts the bytes that one message has taken from the budget of its connection.
type charge struct {
	budget *connBudget
	bytes  int
}

// Take charges n more bytes.
func (c *charge) Take(n int) error {
	if err := c.budget.take(n); err != nil {
		return err
	}
	c.bytes += n
	return nil
}

// release returns n bytes.
func (c *charge) release(n int) {
	c.budget.release(n)
	c.bytes -= n
}

// end returns all bytes.
func (c *charge) end() {
	if c.bytes > 0 {
		c.release(c.bytes)
	}
}
