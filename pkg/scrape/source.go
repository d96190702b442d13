package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxPage bounds the size of a page: ten thousand model versions have less.
	maxPage = 64 << 20
	// maxRefusal is how much of the answer of a server that refuses is read.
	maxRefusal = 4 << 10
)

// Source is the address of a metrics page.
type Source struct {
	// URL is the address of the page. Without a scheme it is http, without a path /metrics.
	URL     string
	Headers map[string]string
	// Client makes the requests; nil is a client without kept connections.
	Client *http.Client
}

// Client returns an HTTP client for sources, over a transport that takes no proxy from the
// environment: servers are asked directly.
func Client(t *http.Transport) *http.Client {
	t.Proxy = nil
	t.ResponseHeaderTimeout = time.Minute
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Resolve returns the URL with its scheme and path.
func Resolve(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // the address may have a password
		}
		return nil, fmt.Errorf("address of the metrics: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("address of the metrics: %q is not http://HOST:PORT/PATH", u.Redacted())
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return u, nil
}

// Read reads the page.
func (s Source) Read(ctx context.Context) (*Page, error) {
	u, err := Resolve(s.URL)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", u.Redacted(), err)
	}
	for name, value := range s.Headers {
		req.Header.Set(name, value)
	}
	client := s.Client
	if client == nil {
		client = Client(&http.Transport{DisableKeepAlives: true})
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", u.Redacted(), cause(ctx, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
		return nil, fmt.Errorf("read %s: %s: %s", u.Redacted(), resp.Status, strings.TrimSpace(string(text)))
	}
	body := &io.LimitedReader{R: resp.Body, N: maxPage + 1}
	page, err := Parse(body)
	switch {
	case body.N <= 0:
		return nil, fmt.Errorf("read %s: the page is larger than %d MiB", u.Redacted(), maxPage>>20)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", u.Redacted(), cause(ctx, fmt.Errorf("not a page of metrics: %w", err)))
	}
	return page, nil
}

// cause returns what an error of the HTTP client is about, without the address, which the caller names.
func cause(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		if errors.Is(ended, context.DeadlineExceeded) {
			return errors.New("no answer in time")
		}
		return ended
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no connection: %w", op.Err)
	}
	return err
}
