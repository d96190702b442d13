package remotetest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/freeport"
)

// Fault is what a proxy does to answers.
type Fault string

// Faults. After is the number of bytes of the body that arrive before the fault.
const (
	None    Fault = ""
	Slow    Fault = "slow"            // a few bytes at a time
	Cut     Fault = "cut"             // the connection breaks
	Stall   Fault = "silent stall"    // no more bytes, and the connection stays open
	Error   Fault = "500"             // as status
	Busy    Fault = "503"             // as status, with Retry-After
	TooMany Fault = "429"             // as status, with Retry-After
	Short   Fault = "length too low"  // the length and the body are shorter than the content
	Long    Fault = "length too high" // more bytes than the content has
	Flip    Fault = "flipped byte"    // one byte is another one
)

// Faults are all faults of answers.
var Faults = []Fault{Slow, Cut, Stall, Error, Busy, TooMany, Short, Long, Flip}

// Rule says which answers have a fault.
type Rule struct {
	Fault Fault
	After int64
	Times int // how many answers; negative: all
	// Match picks the requests; nil: all GETs.
	Match func(r *http.Request) bool
}

// Proxy forwards HTTP requests to a server.
type Proxy struct {
	// Address is host:port.
	Address string

	to     *url.URL
	client *http.Transport

	mu       sync.Mutex
	rule     Rule
	server   *http.Server
	stopped  chan struct{} // ends stalls
	requests atomic.Int64
	faults   atomic.Int64
	bytes    atomic.Int64
}

// NewProxy starts a proxy of a server at an address such as http://127.0.0.1:9000.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	u, err := url.Parse(to)
	require.NoError(t, err)
	p := &Proxy{to: u, client: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32}}
	port, err := freeport.Reserve(1) // it stays the proxy's while the proxy is away
	require.NoError(t, err)
	p.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Ports()[0]))
	p.start(t)
	t.Cleanup(func() {
		p.GoAway()
		port.Release()
		p.client.CloseIdleConnections()
	})
	return p
}

func (p *Proxy) start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", p.Address)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = make(chan struct{})
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: time.Minute}
	go p.server.Serve(l) //nolint:errcheck // it ends with GoAway
}

// URL returns the address of the proxy.
func (p *Proxy) URL() string { return "http://" + p.Address }

// Set replaces the rule.
func (p *Proxy) Set(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = r
	p.faults.Store(0)
}

// GoAway closes the port and all connections.
func (p *Proxy) GoAway() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		close(p.stopped)
		p.server.Close()
		p.server = nil
	}
}

// ComeBack opens the port again.
func (p *Proxy) ComeBack(t testing.TB) {
	t.Helper()
	p.start(t)
}

// Requests returns the number of requests.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Injected returns how many answers had the fault of the current rule.
func (p *Proxy) Injected() int64 { return p.faults.Load() }

// Bytes returns the number of bytes that were sent to clients in bodies.
func (p *Proxy) Bytes() int64 { return p.bytes.Load() }

// take returns the fault for a request.
func (p *Proxy) take(r *http.Request) (Rule, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	match := p.rule.Match
	if match == nil {
		match = func(r *http.Request) bool { return r.Method == http.MethodGet }
	}
	if p.rule.Fault == None || p.rule.Times == 0 || !match(r) {
		return Rule{}, p.stopped
	}
	p.rule.Times--
	p.faults.Add(1)
	return p.rule, p.stopped
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	rule, stopped := p.take(r)
	switch rule.Fault {
	case Error, Busy, TooMany:
		status, _ := strconv.Atoi(string(rule.Fault))
		if status != http.StatusInternalServerError {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "injected", status)
		return
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = p.to.Scheme, p.to.Host, ""
	out.Host = r.Host // signatures include it
	resp, err := p.client.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	size, rule := announce(w, resp, rule)
	w.WriteHeader(resp.StatusCode)
	b := body{to: w, proxy: p, rule: rule, size: size, stopped: stopped, ctx: r.Context()}
	b.copy(resp.Body)
}

// announce changes the length of an answer if the fault is about it.
func announce(w http.ResponseWriter, resp *http.Response, rule Rule) (size int64, _ Rule) {
	size = resp.ContentLength
	switch {
	case size <= rule.After && rule.Fault != Slow:
		return size, Rule{} // too short for the fault
	case rule.Fault == Short:
		size = rule.After
	case rule.Fault == Long:
		size += 10
	default:
		return size, rule
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	return size, rule
}

// body writes the body of an answer.
type body struct {
	to      http.ResponseWriter
	proxy   *Proxy
	rule    Rule
	size    int64 // as announced; negative: not known
	sent    int64
	stopped <-chan struct{}
	ctx     context.Context
}

func (b *body) copy(from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		if b.rule.Fault == Slow {
			buf = buf[:4<<10]
			time.Sleep(2 * time.Millisecond)
		}
		n, err := from.Read(buf)
		if n > 0 && !b.write(buf[:n]) {
			return
		}
		if err != nil {
			break
		}
	}
	if b.rule.Fault == Long {
		b.send(make([]byte, 10))
	}
}

// write writes bytes of the content, and reports whether the body goes on.
func (b *body) write(p []byte) bool {
	left := b.rule.After - b.sent
	if b.rule.Fault == None || b.rule.Fault == Slow || b.rule.Fault == Long || left >= int64(len(p)) {
		return b.send(p)
	}
	switch b.rule.Fault {
	case Flip:
		if left >= 0 {
			p[left] ^= 0x20
		}
		return b.send(p)
	case Short:
		b.send(p[:left])
	case Cut:
		b.send(p[:left])
		panic(http.ErrAbortHandler)
	case Stall:
		b.send(p[:left])
		select {
		case <-b.ctx.Done():
		case <-b.stopped:
		}
		panic(http.ErrAbortHandler)
	}
	return false
}

func (b *body) send(p []byte) bool {
	n, err := b.to.Write(p)
	b.sent += int64(n)
	b.proxy.bytes.Add(int64(n))
	if f, ok := b.to.(http.Flusher); ok && b.rule.Fault != None {
		f.Flush()
	}
	return err == nil
}
