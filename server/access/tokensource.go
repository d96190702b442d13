package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// refreshAge is how old keys from a URL get before they are fetched again; a token with an
	// unknown key fetches them earlier, but not before refreshPause has passed, so that tokens
	// with invented keys cannot make the server fetch all the time.
	refreshAge   = 10 * time.Minute
	refreshPause = 30 * time.Second
	// maxStale is how long keys are used that could not be fetched again.
	maxStale     = 24 * time.Hour
	fetchTimeout = 10 * time.Second
)

// keySource keeps the keys of a file or a URL.
type keySource struct {
	where  string
	remote bool
	client *http.Client
	now    func() time.Time
	keys   atomic.Pointer[keySet]
	flight singleflight.Group
	life   context.Context // of fetches that tokens cause
	end    context.CancelFunc
	mu     struct {
		sync.Mutex
		tried, fetched time.Time
		failure        string
		text           []byte
	}
	failures atomic.Int64
}

func newKeySource(where string, client *http.Client, now func() time.Time) (*keySource, error) {
	s := &keySource{where: where, client: client, now: now}
	s.life, s.end = context.WithCancel(context.Background())
	u, err := url.Parse(where)
	if err != nil || u.Scheme == "" || len(u.Scheme) == 1 { // C: is a drive
		return s, nil
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the URL of a key set must not contain a password")
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
	case u.Scheme == "http":
		return nil, errors.New("the URL of a key set must begin with https://: whoever can change the keys can sign tokens")
	default:
		return nil, fmt.Errorf("%q is no file and no https URL", where)
	}
	s.remote = true
	if s.client == nil {
		s.client = &http.Client{
			Timeout:       fetchTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the server of the key set redirects") },
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true},
		}
	}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// unknown is called for a key that is not in the set. It fetches the set again unless that was
// done shortly before. Callers that wait for the same fetch share it.
func (s *keySource) unknown(ctx context.Context) {
	if !s.remote {
		return
	}
	done := s.flight.DoChan("", func() (any, error) {
		s.mu.Lock()
		due := s.now().Sub(s.mu.tried) >= refreshPause
		s.mu.Unlock()
		if !due {
			return nil, nil
		}
		return nil, s.load(s.life)
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// refresh loads the keys if they may have changed.
func (s *keySource) refresh(ctx context.Context) error {
	now := s.now()
	s.mu.Lock()
	due := now.Sub(s.mu.tried) >= refreshPause && now.Sub(s.mu.fetched) >= refreshAge
	stale := s.remote && s.keys.Load() != nil && now.Sub(s.mu.fetched) > maxStale
	s.mu.Unlock()
	if stale {
		s.keys.Store(nil)
		s.mu.Lock()
		s.mu.failure = "" // what fails now is worse than before
		s.mu.Unlock()
	}
	if !s.remote {
		due = true // a file is compared by its content
	}
	if !due {
		return nil
	}
	_, err, _ := s.flight.Do("", func() (any, error) { return nil, s.load(ctx) })
	return err
}

// load reads the keys. If that fails the earlier keys stay.
func (s *keySource) load(ctx context.Context) error {
	now := s.now()
	s.mu.Lock()
	s.mu.tried = now
	s.mu.Unlock()
	text, err := s.read(ctx)
	var keys keySet
	if err == nil {
		keys, err = parseKeySet(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failures.Add(1)
		if s.mu.failure == err.Error() {
			return nil // reported before
		}
		s.mu.failure = err.Error()
		return err
	}
	s.mu.failure, s.mu.fetched = "", now
	if s.keys.Load() == nil || !bytes.Equal(text, s.mu.text) { // the same keys do not make tokens be checked anew
		s.mu.text = text
		s.keys.Store(&keys)
	}
	return nil
}

func (s *keySource) read(ctx context.Context) (text []byte, err error) {
	if !s.remote {
		info, err := os.Stat(s.where)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() { // to open a pipe would wait
			return nil, errors.New("the key set is not a file")
		}
		if info.Size() > maxSet {
			return nil, fmt.Errorf("the key set has more than %d bytes", maxSet)
		}
		return os.ReadFile(s.where)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.where, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server of the key set answers %s", resp.Status)
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxSet+1))
	return text, err
}
