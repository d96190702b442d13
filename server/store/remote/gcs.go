// The source of repository paths in Google Cloud Storage, over its JSON API.

package remote

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"triton/pkg/status"
)

// googleEndpoint is the endpoint of the service.
const googleEndpoint = "https://storage.googleapis.com"

// gcsSource is a path in a bucket.
type gcsSource struct {
	path, bucket, prefix string
	endpoint             string
	env                  Env
	http                 http.RoundTripper

	mu     sync.Mutex
	client *http.Client // nil: not made yet, or with credentials that were refused
}

func openGCS(path string, env Env) (Source, error) {
	parts := strings.FieldsFunc(strings.TrimPrefix(path, "gs://"), func(r rune) bool { return r == '/' })
	if len(parts) == 0 || strings.ContainsAny(path, "\x00?#@") || strings.Contains(parts[0], ":") {
		return nil, status.New(status.InvalidArg, "%q is not a path of Google Cloud Storage: it has the form gs://bucket/path", Hidden(path))
	}
	s := &gcsSource{path: strings.TrimRight(path, "/"), bucket: parts[0], endpoint: googleEndpoint, env: env, http: newTransport()}
	if len(parts) > 1 {
		s.prefix = strings.Join(parts[1:], "/") + "/"
	}
	if emulator := strings.TrimRight(env.Getenv("STORAGE_EMULATOR_HOST"), "/"); emulator != "" {
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		s.endpoint = strings.TrimSuffix(emulator, "/storage/v1")
	}
	return s, nil
}

// String returns the path.
func (s *gcsSource) String() string { return s.path }

// Close closes idle connections.
func (s *gcsSource) Close() error {
	closeIdle(s.http)
	return nil
}

// gcsPage is a part of a listing.
type gcsPage struct {
	Items []struct {
		Name       string    `json:"name"`
		Size       int64     `json:"size,string"`
		Generation string    `json:"generation"`
		MD5        string    `json:"md5Hash"`
		Updated    time.Time `json:"updated"`
	} `json:"items"`
	Next string `json:"nextPageToken"`
}

// List lists the bucket below the path.
func (s *gcsSource) List(ctx context.Context) ([]Object, error) {
	var all []Object
	for token := ""; ; {
		p, err := s.page(ctx, token)
		if err != nil {
			return nil, err
		}
		for _, o := range p.Items {
			name, below := strings.CutPrefix(o.Name, s.prefix)
			if !below {
				return nil, fmt.Errorf("the store listed %q, which is not below %q", o.Name, s.prefix)
			}
			if name == "" {
				continue
			}
			r := Object{Name: name, Size: o.Size, Tag: o.Generation, Modified: o.Updated}
			if sum, err := base64.StdEncoding.DecodeString(o.MD5); err == nil {
				r.MD5 = hex.EncodeToString(sum)
			}
			all = append(all, r)
		}
		if token = p.Next; token == "" {
			break
		}
	}
	if len(all) == 0 && s.prefix != "" {
		return nil, fmt.Errorf("%w: the bucket %s has no objects below %s", ErrNotFound, s.bucket, s.prefix)
	}
	return all, nil
}

func (s *gcsSource) page(ctx context.Context, token string) (p gcsPage, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	q := url.Values{"prefix": {s.prefix}, "fields": {"items(name,size,generation,md5Hash,updated),nextPageToken"}}
	if token != "" {
		q.Set("pageToken", token)
	}
	resp, err := s.get(ctx, "/storage/v1/b/"+url.PathEscape(s.bucket)+"/o?"+q.Encode(), nil)
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&p); err != nil {
		return p, fmt.Errorf("reading the listing: %w", err)
	}
	return p, nil
}

// Open reads a range of a generation of an object.
func (s *gcsSource) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	q := url.Values{"alt": {"media"}, "generation": {tag}}
	at := "/storage/v1/b/" + url.PathEscape(s.bucket) + "/o/" + url.PathEscape(s.prefix+name) + "?" + q.Encode()
	resp, err := s.get(ctx, at, map[string]string{
		"Range":           rangeHeader(offset, length),
		"Accept-Encoding": "gzip", // the stored bytes, also of objects that are stored compressed
	})
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if err != nil {
		return nil, err
	}
	if got := resp.Header.Get("X-Goog-Generation"); got != "" && got != tag {
		_ = resp.Body.Close()
		return nil, ErrChanged
	}
	return ranged(resp, offset, length)
}

// get sends a request, and once again with newly read credentials if access is denied.
func (s *gcsSource) get(ctx context.Context, at string, header map[string]string) (*http.Response, error) {
	c, fresh, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := s.send(ctx, c, at, header)
	if fresh || !errors.Is(err, ErrDenied) {
		return resp, err
	}
	s.forget(c)
	if c, _, err = s.connect(ctx); err != nil {
		return nil, err
	}
	return s.send(ctx, c, at, header)
}

func (s *gcsSource) send(ctx context.Context, c *http.Client, at string, header map[string]string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint+at, http.NoBody)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	return do(c, r, gcsMessage)
}

// gcsMessage returns the text of an error of the service.
func gcsMessage(body []byte) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error.Message
}

// forget drops a client whose credentials were refused.
func (s *gcsSource) forget(c *http.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		s.client = nil
	}
}
