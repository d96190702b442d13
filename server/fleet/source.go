package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"triton/pkg/fleetstate"
	"triton/pkg/status"
)

// source is where the document comes from.
type source interface {
	// read returns the text of the document; nil if it has not changed since the last read.
	read(ctx context.Context) ([]byte, error)
	// name names the source in messages, without credentials.
	name() string
}

// newSource returns the source of a path or an http or https URL.
func newSource(from string) (source, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		return &fileSource{path: from}, nil
	}
	at, err := url.Parse(from)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("the URL of the state is not valid: %q", from)
	}
	return &urlSource{at: at, client: &http.Client{Timeout: urlTimeout}}, nil
}

// fileSource is a file. It is read as a whole each time: a change of a link in its path, as
// Kubernetes updates the files of a ConfigMap, has no other sign on all file systems.
type fileSource struct{ path string }

func (s *fileSource) name() string { return s.path }

func (s *fileSource) read(context.Context) ([]byte, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("the state %s cannot be read: %s", s.path, status.Strerror(err))
	}
	defer func() { _ = f.Close() }()
	return readAll(f, s.path)
}

func readAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, fleetstate.MaxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the state %s cannot be read: %w", name, err)
	case len(text) > fleetstate.MaxSize:
		return nil, fmt.Errorf("the state %s has more than %d bytes", name, fleetstate.MaxSize)
	}
	return text, nil
}

// urlTimeout bounds one request for the document.
const urlTimeout = 10 * time.Second

// urlSource is a URL. With an entity tag of the server it asks only for changes.
type urlSource struct {
	at     *url.URL
	client *http.Client
	tag    string
}

func (s *urlSource) name() string { return s.at.Redacted() }

func (s *urlSource) read(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.tag != "" {
		req.Header.Set("If-None-Match", s.tag)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var where *url.Error // its text repeats the URL, with credentials
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, fmt.Errorf("the state %s cannot be fetched: %w", s.name(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotModified && s.tag != "":
		return nil, nil
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the state %s cannot be fetched: status %s", s.name(), resp.Status)
	}
	text, err := readAll(resp.Body, s.name())
	if err != nil {
		return nil, err
	}
	if resp.ContentLength >= 0 && int64(len(text)) != resp.ContentLength {
		return nil, fmt.Errorf("the state %s ended too early", s.name())
	}
	s.tag = resp.Header.Get("ETag")
	return text, nil
}
