package redis_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/cache"
	"triton/server/cache/redis"
	"triton/server/infer"
)

// sink is a log that may be read while it is written.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *sink) lines(with string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.buf.String(), with)
}

func open(t testing.TB, settings map[string]string) (*redis.Cache, *sink) {
	t.Helper()
	var log sink
	c, err := redis.New(settings, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	require.NoError(t, c.Check(t.Context()))
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() {
		end()
		running.Wait()
		require.NoError(t, c.Close())
	})
	return c, &log
}

func response(text string) *infer.Response {
	r := infer.NewResponse()
	r.Parameters = append(r.Parameters, kserve.Parameter{Name: "p", Kind: kserve.ParamString, String: text})
	r.Add("OUT", tensor.Uint8, tensor.Shape{int64(len(text))}, tensor.NewData(tensor.HeapBuffer([]byte(text))))
	r.Add("EMPTY", tensor.FP32, tensor.Shape{0, 4}, tensor.Data{})
	return r
}

// eventually waits for a condition that a background writer causes.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, time.Minute, 2*time.Millisecond)
}

func lookup(c *redis.Cache, k cache.Key) (string, bool) {
	resp := infer.NewResponse()
	defer resp.Release()
	if !c.Lookup(context.Background(), k, resp) {
		return "", false
	}
	data, _ := resp.Output("OUT").Data.Contiguous()
	return resp.Parameters[0].String + " " + string(data), true
}

func TestReal(t *testing.T) {
	t.Parallel()
	port, stop := start(t, "", "--requirepass", "secret")
	settings := map[string]string{"host": "127.0.0.1", "port": port, "password": "secret", "db": "3", "prefix": "x:", "socket_timeout": "5000"}
	c, log := open(t, settings)
	k, other := cache.Key{1, 2, 3}, cache.Key{4}
	_, hit := lookup(c, k)
	require.False(t, hit)
	resp := response("hello")
	defer resp.Release()
	require.NoError(t, c.Insert(k, resp))
	eventually(t, func() bool { text, hit := lookup(c, k); return hit && text == "hello hello" })
	_, hit = lookup(c, other)
	require.False(t, hit)

	another, _ := open(t, settings) // another server has it too
	text, hit := lookup(another, k)
	require.True(t, hit)
	require.Equal(t, "hello hello", text)
	elsewhere, _ := open(t, map[string]string{"host": "127.0.0.1", "port": port, "password": "secret", "db": "3", "socket_timeout": "5000"})
	_, hit = lookup(elsewhere, k) // another prefix
	require.False(t, hit)
	require.Zero(t, log.lines("ERROR"))

	for password, want := range map[string]string{
		"":      "Failed to initialize RedisCache: NOAUTH Authentication required",
		"other": "Failed to initialize RedisCache: WRONGPASS invalid username-password pair",
	} {
		c, err := redis.New(map[string]string{"host": "127.0.0.1", "port": port, "password": password}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.ErrorContains(t, c.Check(t.Context()), want)
		require.NoError(t, c.Close())
	}

	// Redis stops and starts again: requests are answered all the time.
	stop()
	begin := time.Now()
	for range 50 {
		_, hit = lookup(c, k)
		require.False(t, hit)
	}
	require.Positive(t, log.lines("level=ERROR"))
	require.LessOrEqual(t, log.lines("level=ERROR"), 1+int(time.Since(begin).Seconds()), "at a bounded rate")
	start(t, port, "--requirepass", "secret")
	eventually(t, func() bool { _ = c.Insert(k, resp); _, hit := lookup(c, k); return hit })
	require.Positive(t, log.lines("answers again"))
}

// TestNewStartsNothing: neither a goroutine nor a connection, whether Redis is
// there or not. goleak sees the first, the listener the second.
func TestNewStartsNothing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = redis.New(map[string]string{"host": "127.0.0.1", "port": port}, slog.New(slog.DiscardHandler))
	require.NoError(t, err, "it is not closed either")
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "no call was made")
	require.NoError(t, l.Close())
}

// TestTTL: stored responses expire, by default after a day.
func TestTTL(t *testing.T) {
	t.Parallel()
	port, _ := start(t, "")
	direct, err := goredis.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	require.NoError(t, err)
	defer direct.Close()
	resp := response("x")
	defer resp.Release()
	for name, test := range map[string]struct {
		ttl      string // none: not set
		from, to time.Duration
	}{
		"a:": {"", 23 * time.Hour, 24 * time.Hour},
		"b:": {"7200", time.Hour, 2 * time.Hour},
		"c:": {"0", -time.Millisecond, -time.Millisecond}, // never
	} {
		settings := map[string]string{"host": "127.0.0.1", "port": port, "prefix": name, "socket_timeout": "5000"}
		if test.ttl != "" {
			settings["ttl"] = test.ttl
		}
		c, _ := open(t, settings)
		k := cache.Key{1}
		require.NoError(t, c.Insert(k, resp))
		eventually(t, func() bool { _, hit := lookup(c, k); return hit })
		milliseconds, err := goredis.Int64(direct.Do("PTTL", name+string(k[:])))
		require.NoError(t, err)
		left := time.Duration(milliseconds) * time.Millisecond
		require.GreaterOrEqual(t, left, test.from, name)
		require.LessOrEqual(t, left, test.to, name)
	}
}

// TestSilent: a Redis that accepts connections and never answers costs one short
// wait for each pause.
func TestSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns []net.Conn
	var calls atomic.Int64 // a call that gets no answer costs its connection
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conns = append(conns, conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		for _, conn := range conns {
			conn.Close()
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c, log := open(t, map[string]string{"host": "127.0.0.1", "port": port, "socket_timeout": "50"})
	begin := time.Now()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				_, hit := lookup(c, cache.Key{9})
				if hit {
					t.Error("an answer out of nothing")
				}
			}
		})
	}
	all.Wait()
	pauses := int64(time.Since(begin).Seconds())
	require.LessOrEqual(t, calls.Load(), 1+8+2*pauses, "the start, those that called before the first failure, and one or two for each pause")
	require.LessOrEqual(t, log.lines("level=ERROR"), 1+int(pauses))
	resp := response("late")
	defer resp.Release()
	require.NoError(t, c.Insert(cache.Key{9}, resp))
}

// TestImpatient: a client that cancels does not open the breaker.
func TestImpatient(t *testing.T) {
	t.Parallel()
	port, _ := start(t, "")
	c, log := open(t, map[string]string{"host": "127.0.0.1", "port": port})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resp := infer.NewResponse()
	defer resp.Release()
	require.False(t, c.Lookup(ctx, cache.Key{1}, resp))
	require.Zero(t, log.lines("ERROR"))
}

// TestPoolFull: that all connections are in use is no fault of Redis, which is asked on.
func TestPoolFull(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	asked, answer := make(chan bool, 10), make(chan bool)
	ended := make(chan bool)
	go func() { // answers the calls of one connection, when it may
		defer close(ended)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for command := make([]byte, 4096); ; {
			n, err := conn.Read(command)
			if err != nil {
				return
			}
			reply := "+PONG\r\n"
			if !strings.Contains(string(command[:n]), "PING") {
				asked <- true
				<-answer
				reply = "$-1\r\n" // no such key
			}
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c, log := open(t, map[string]string{"host": "127.0.0.1", "port": port, "pool_size": "1", "wait_timeout": "1", "socket_timeout": "60000"})
	first := make(chan bool)
	go func() { _, hit := lookup(c, cache.Key{1}); first <- hit }()
	<-asked
	_, hit := lookup(c, cache.Key{1})
	require.False(t, hit)
	require.Equal(t, 1, log.lines("all connections are in use"))
	require.Zero(t, log.lines("until it answers again"), log)
	answer <- true
	require.False(t, <-first)
	go func() { _, hit := lookup(c, cache.Key{1}); first <- hit }()
	<-asked // nothing is blocked
	answer <- true
	require.False(t, <-first)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, "Failed to initialize RedisCache, didn't specify address. Must at a minimum specify 'host' and 'port'"},
		{map[string]string{"host": "h"}, "didn't specify address"},
		{map[string]string{"host": "h", "port": "x"}, "'port' must be a number from 0 to 65535, got 'x'"},
		{map[string]string{"host": "h", "port": "70000"}, "'port' must be a number from 0 to 65535, got '70000'"},
		{map[string]string{"host": "h", "port": "1", "db": "-1"}, "'db' must be a number"},
		{map[string]string{"host": "h", "port": "1", "ttl": "1h"}, "'ttl' must be a number from 0 to 2147483647, got '1h'"},
		{map[string]string{"host": "h", "port": "1", "ttl": "-1"}, "'ttl' must be a number"},
		{map[string]string{"host": "h", "port": "1", "socket_timeout": "soon"}, "'socket_timeout' must be a number"},
		{map[string]string{"host": "h", "port": "1", "cacert": "/nowhere.pem"}, "Failed to initialize RedisCache: open /nowhere.pem"},
		{map[string]string{"host": "h", "port": "1", "cacert": "redis_test.go"}, "no certificate in 'redis_test.go'"},
		{map[string]string{"host": "h", "port": "1", "cert": "/nowhere.pem"}, "Failed to initialize RedisCache: open /nowhere.pem"},
	} {
		_, err := redis.New(test.settings, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, test.want)
	}
}

// TestIdleConnectionsClosed: connections that Redis closed while nobody used them cost no lookup.
func TestIdleConnectionsClosed(t *testing.T) {
	t.Parallel()
	port, _ := start(t, "")
	c, log := open(t, map[string]string{"host": "127.0.0.1", "port": port, "socket_timeout": "5000"})
	direct, err := goredis.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	require.NoError(t, err)
	defer direct.Close()
	resp := response("x")
	defer resp.Release()
	require.NoError(t, c.Insert(cache.Key{1}, resp))
	eventually(t, func() bool { _, hit := lookup(c, cache.Key{1}); return hit })
	_, err = direct.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	require.NoError(t, err)
	time.Sleep(1100 * time.Millisecond) // until a connection counts as idle
	_, hit := lookup(c, cache.Key{1})
	require.True(t, hit)
	require.Zero(t, log.lines("level=ERROR"), log)
}

// TestSlowInsert: an insertion may take longer than a lookup.
func TestSlowInsert(t *testing.T) {
	t.Parallel()
	port, _ := start(t, "")
	c, log := open(t, map[string]string{"host": "127.0.0.1", "port": port, "socket_timeout": "500"})
	direct, err := goredis.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	require.NoError(t, err)
	defer direct.Close()
	_, err = direct.Do("CLIENT", "PAUSE", "1000", "WRITE") // reads are answered
	require.NoError(t, err)
	resp := response("x")
	defer resp.Release()
	require.NoError(t, c.Insert(cache.Key{1}, resp))
	eventually(t, func() bool {
		n, err := goredis.Int(direct.Do("DBSIZE"))
		return err == nil && n == 1
	})
	require.Zero(t, log.lines(`call=insert`))
}
