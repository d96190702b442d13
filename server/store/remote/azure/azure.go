// Package azure is the source of repository paths in Azure Blob Storage, over its REST API.
package azure

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"triton/server/store/remote"
	"triton/server/store/remote/web"
)

// apiVersion is the version of the REST API.
const apiVersion = "2021-08-06"

// source is a path in a container.
type source struct {
	path string
	at   address
	env  remote.Env
	http http.RoundTripper

	mu     sync.Mutex
	signer signer // nil: not made yet, or refused
}

// Open returns the source of a path. It makes no request.
func Open(path string, env remote.Env) (remote.Source, error) {
	at, err := parse(path)
	if err != nil {
		return nil, err
	}
	if at.endpoint == "" {
		at.endpoint = strings.TrimRight(env.Getenv("AZURE_STORAGE_SERVICE_ENDPOINT"), "/")
	}
	if at.endpoint == "" {
		at.endpoint = "https://" + at.account + domain
	}
	return &source{path: strings.TrimRight(path, "/"), at: at, env: env, http: web.NewTransport()}, nil
}

// String returns the path.
func (s *source) String() string { return s.path }

// Close closes idle connections.
func (s *source) Close() error {
	web.CloseIdle(s.http)
	return nil
}

// page is a part of a listing.
type page struct {
	Blobs struct {
		Blob []struct {
			Name       string
			Properties struct {
				Modified string `xml:"Last-Modified"`
				Etag     string
				Size     int64  `xml:"Content-Length"`
				MD5      string `xml:"Content-MD5"`
			}
			Metadata struct {
				Folder string `xml:"hdi_isfolder"`
			}
		}
	}
	NextMarker string
}

// pageWait bounds a request for a page; maxPage bounds its bytes.
const (
	pageWait = time.Minute
	maxPage  = 64 << 20
)

// List lists the container below the path.
func (s *source) List(ctx context.Context) ([]remote.Object, error) {
	var all []remote.Object
	for marker := ""; ; {
		p, err := s.page(ctx, marker)
		if err != nil {
			return nil, err
		}
		for _, b := range p.Blobs.Blob {
			name, below := strings.CutPrefix(b.Name, s.at.prefix)
			if !below {
				if b.Name+"/" == s.at.prefix { // the marker of the path itself
					continue
				}
				return nil, fmt.Errorf("the store listed %q, which is not below %q", b.Name, s.at.prefix)
			}
			if name == "" {
				continue
			}
			if b.Metadata.Folder == "true" {
				name = strings.TrimRight(name, "/") + "/"
			}
			r := remote.Object{Name: name, Size: b.Properties.Size, Tag: strings.Trim(b.Properties.Etag, `"`)}
			if sum, err := base64.StdEncoding.DecodeString(b.Properties.MD5); err == nil {
				r.MD5 = hex.EncodeToString(sum)
			}
			r.Modified, _ = http.ParseTime(b.Properties.Modified) // only shown
			all = append(all, r)
		}
		if marker = p.NextMarker; marker == "" {
			break
		}
	}
	if len(all) == 0 && s.at.prefix != "" {
		return nil, fmt.Errorf("%w: the container %s has no blobs below %s", remote.ErrNotFound, s.at.container, s.at.prefix)
	}
	return all, nil
}

func (s *source) page(ctx context.Context, marker string) (p page, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	q := url.Values{"restype": {"container"}, "comp": {"list"}, "include": {"metadata"}, "prefix": {s.at.prefix}}
	if marker != "" {
		q.Set("marker", marker)
	}
	resp, err := s.get(ctx, "/"+url.PathEscape(s.at.container)+"?"+q.Encode(), nil)
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	if err := xml.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&p); err != nil {
		return p, fmt.Errorf("reading the listing: %w", err)
	}
	return p, nil
}

// Open reads a range of a blob.
func (s *source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	at := (&url.URL{Path: "/" + s.at.container + "/" + s.at.prefix + name}).EscapedPath()
	resp, err := s.get(ctx, at, map[string]string{"X-Ms-Range": web.Range(offset, length), "If-Match": `"` + tag + `"`})
	if err != nil {
		return nil, err
	}
	if got := strings.Trim(resp.Header.Get("ETag"), `"`); got != "" && got != tag {
		_ = resp.Body.Close()
		return nil, remote.ErrChanged
	}
	return web.Ranged(resp, offset, length)
}

// get sends a request, and once again with newly read credentials if access is denied.
func (s *source) get(ctx context.Context, at string, header map[string]string) (*http.Response, error) {
	sign, fresh, err := s.login()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", remote.ErrDenied, err)
	}
	resp, err := s.send(ctx, sign, at, header)
	if fresh || !errors.Is(err, remote.ErrDenied) {
		return resp, err
	}
	s.mu.Lock()
	s.signer = nil
	s.mu.Unlock()
	if sign, _, err = s.login(); err != nil {
		return nil, fmt.Errorf("%w: %w", remote.ErrDenied, err)
	}
	return s.send(ctx, sign, at, header)
}

func (s *source) send(ctx context.Context, sign signer, at string, header map[string]string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.endpoint+at, http.NoBody)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	r.Header.Set("X-Ms-Version", apiVersion)
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	if err := sign(r); err != nil {
		return nil, fmt.Errorf("%w: %w", remote.ErrDenied, err)
	}
	return web.Do(&http.Client{Transport: s.http}, r, message)
}

// message returns the text of an error of the service.
func message(body []byte) string {
	var e struct {
		Code    string
		Message string
	}
	if xml.Unmarshal(body, &e) != nil {
		return ""
	}
	text, _, _ := strings.Cut(e.Message, "\n") // the rest has request numbers
	return e.Code + ": " + text
}
