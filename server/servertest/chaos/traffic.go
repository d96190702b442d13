package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/client"
)

// pace is the mean time between two requests of a caller.
const pace = 40 * time.Millisecond

// tally counts the requests of all callers.
type tally struct{ sent, right, failed, cancelled atomic.Int64 }

// latencies are the latencies of right answers, by model.
type latencies struct {
	mu sync.Mutex
	of map[string][]int64
}

func (l *latencies) add(model string, d time.Duration) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string][]int64{}
	}
	l.of[model] = append(l.of[model], int64(d))
}

// traffic keeps all models under traffic for a while. It returns when every request has
// ended.
func (w *world) traffic(ctx context.Context, d time.Duration, into *latencies) error {
	until, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return w.trafficUntil(ctx, until, into)
}

// trafficUntil is traffic until a context ends. The requests belong to ctx.
func (w *world) trafficUntil(ctx, until context.Context, into *latencies) error {
	var all sync.WaitGroup
	defer all.Wait()
	for i, x := range w.order {
		for k := range 2 {
			conn, err := connect(w.Server)
			if err != nil {
				return err
			}
			c := &caller{
				w: w, m: x.Model, conn: conn, protocol: client.Protocol(k), into: into,
				rng: rand.New(rand.NewPCG(uint64(i), uint64(k))), name: fmt.Sprintf("%s-%d", x.Name, k),
			}
			all.Go(func() {
				defer conn.close()
				c.run(ctx, until)
			})
		}
	}
	return nil
}

// caller sends requests to one model, one after the other, or on a stream.
type caller struct {
	w        *world
	m        Model
	conn     *connection
	protocol client.Protocol
	into     *latencies
	rng      *rand.Rand
	name     string
	n        int
}

func (c *caller) run(ctx, until context.Context) {
	for until.Err() == nil {
		switch {
		case c.w.models[c.m.Name].resting.Load():
		case c.m.kind == "repeat":
			c.repeat(ctx)
		case c.m.kind == "sequence":
			c.sequence(ctx, until)
		case c.protocol == client.GRPC && c.n%40 >= 20: // half of the gRPC traffic is on streams
			c.stream(ctx, until)
		default:
			c.unary(ctx)
		}
		c.pause(until)
	}
}

// pause waits for the time of the next request.
func (c *caller) pause(until context.Context) {
	select {
	case <-time.After(pace/2 + time.Duration(c.rng.Int64N(int64(pace)))):
	case <-until.Done():
	}
}

func (c *caller) client() *client.Client {
	if c.protocol == client.GRPC {
		return c.conn.grpc
	}
	return c.conn.http
}

// next counts a request and returns its ID and values. Some values repeat, for the cache.
func (c *caller) next() (id string, values []int64) {
	c.n++
	c.w.tally.sent.Add(1)
	values = make([]int64, 1+c.rng.IntN(8))
	for i := range values {
		values[i] = c.rng.Int64N(1 << 40)
	}
	if c.m.Name == "onnx_cached" {
		values = []int64{c.rng.Int64N(8), 7}
	}
	return fmt.Sprintf("%s-%d", c.name, c.n), values
}

// version returns a version to ask for; 0 leaves it to the server.
func (c *caller) version() int {
	known := c.w.oracle.versions(c.m.Name)
	if len(known) == 0 || c.rng.IntN(2) == 0 {
		return 0
	}
	return known[c.rng.IntN(len(known))]
}

func (c *caller) unary(ctx context.Context) {
	id, values := c.next()
	c.judge(c.w.ask(ctx, c.client(), c.m, c.version(), id, values))
}

// judge counts the end of a request.
func (c *caller) judge(a answer) {
	switch verdict := c.w.oracle.judge(a); verdict {
	case "":
		c.w.tally.right.Add(1)
		c.into.add(c.m.Name, a.received.Sub(a.sent))
	case "failed":
		c.w.tally.failed.Add(1)
	default:
		c.w.oracle.wrongf("%s %s over %v, sent at %v, ended after %v: %s",
			a.sent.Format(clock), c.name, c.protocol, c.n, a.received.Sub(a.sent), verdict)
	}
}

// sequence runs one sequence. All its answers have one edition, and the sum of what was sent.
func (c *caller) sequence(ctx, until context.Context) {
	length, corr := 2+c.rng.IntN(5), c.rng.Uint64()>>1|1
	begun, sum, first := time.Now(), int64(0), int64(0)
	for i := range length {
		id, _ := c.next()
		value := c.rng.Int64N(1 << 40)
		sum += value
		r := request(c.m, 0, id, []int64{value})
		r.Sequence = client.Sequence{ID: corr, Start: i == 0, End: i == length-1}
		limited, cancel := context.WithTimeout(ctx, patience)
		resp, err := c.client().Infer(limited, r)
		cancel()
		// A sequence stays on the instances that it began on, so they may answer until its end.
		a := answer{model: c.m.Name, sent: begun, received: time.Now(), goesOn: i > 0, err: err}
		if err == nil {
			if a.version, a.edition, err = read(c.m, id, []int64{sum}, resp); err != nil {
				c.w.oracle.wrongf("%s: sequence %d, request %d: %v", c.name, corr, i, err)
			} else if i > 0 && a.edition != first {
				c.w.oracle.wrongf("%s: sequence %d, request %d: wrong sum: edition %d, before %d", c.name, corr, i, a.edition, first)
				return
			}
			first = a.edition
		}
		if a.err != nil {
			c.judge(a)
			return // the rest of the sequence has no place
		}
		c.judge(a)
		c.pause(until)
	}
}

// repeat has one request answered several times on a stream.
func (c *caller) repeat(ctx context.Context) {
	id, values := c.next()
	n := len(values)
	a := answer{model: c.m.Name, sent: time.Now(), version: 1, edition: 1}
	a.err = c.repeated(ctx, id, n, 0)
	a.received = time.Now()
	c.judge(a)
}

// repeated sends a request for n responses and reads them, the first one after a delay.
func (c *caller) repeated(ctx context.Context, id string, n int, delay time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := c.conn.grpc.InferStream(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	in := make([]int32, n)
	for i := range in {
		in[i] = int32(i)
	}
	err = s.Send(&client.Request{Model: c.m.Name, ID: id, EmptyFinal: true, Inputs: []client.Tensor{
		client.NewTensor("IN", []int64{int64(n)}, in...),
		client.NewTensor("DELAY", []int64{int64(n)}, make([]uint32, n)...),
		client.NewTensor("WAIT", []int64{1}, uint32(0)),
	}})
	if err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	time.Sleep(delay)
	for i := 0; ; i++ {
		resp, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF) && i == n+1:
			return nil
		case err != nil:
			return err
		case resp.ID != id:
			return fmt.Errorf("request %s got a response to %s", id, resp.ID)
		case i > n:
			return fmt.Errorf("request %s got response %d of %d", id, i+1, n)
		case i == n:
			if !resp.Final() {
				return fmt.Errorf("response %d to %s is not final", i, id)
			}
			continue
		}
		got, err := client.Values[int32](resp.Output("OUT"))
		if err != nil || len(got) != 1 || got[0] != int32(i) {
			return fmt.Errorf("response %d to %s is %v, %w", i, id, got, err)
		}
	}
}

// stream sends some requests on one stream, without waiting for each. Each must end once.
func (c *caller) stream(ctx, until context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience+10*pace)
	defer cancel()
	s, err := c.conn.grpc.InferStream(ctx)
	if err != nil {
		c.w.oracle.wrongf("%s: opening a stream: %v", c.name, err)
		return
	}
	defer s.Close()
	type pending struct {
		answer
		values []int64
	}
	var mu sync.Mutex
	open := map[string]pending{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			resp, err := s.Recv()
			var failed *client.RequestError
			id := ""
			switch {
			case err == nil:
				id = resp.ID
			case errors.As(err, &failed):
				id = failed.ID
			case errors.Is(err, io.EOF):
				return
			default:
				c.w.oracle.wrongf("%s: the stream ended: %v", c.name, err)
				return
			}
			mu.Lock()
			p, ok := open[id]
			delete(open, id)
			mu.Unlock()
			if !ok {
				c.w.oracle.wrongf("%s: request %q on a stream ended twice, or was never sent (%v)", c.name, id, err)
				continue
			}
			p.received, p.err = time.Now(), err
			if err == nil {
				if p.version, p.edition, err = read(c.m, id, p.values, resp); err != nil {
					c.w.oracle.wrongf("%s: wrong answer on a stream: %v", c.name, err)
				}
			}
			c.judge(p.answer)
		}
	}()
	for range 20 {
		id, values := c.next()
		p := pending{answer{model: c.m.Name, source: c.m.source, asked: c.version(), sent: time.Now()}, values}
		mu.Lock()
		open[id] = p
		mu.Unlock()
		if err := s.Send(request(c.m, p.asked, id, values)); err != nil {
			break // the reader says why
		}
		if c.rng.IntN(3) > 0 {
			c.pause(until)
		}
	}
	_ = s.CloseSend()
	<-done
	mu.Lock()
	defer mu.Unlock()
	for id, p := range open {
		c.w.oracle.wrongf("%s: request %s on a stream, sent %v ago, never ended", c.name, id, time.Since(p.sent))
	}
}
