// The source of repository paths in Azure Blob Storage, over its REST API.

package remote

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
)

// azureVersion is the version of the REST API.
const azureVersion = "2021-08-06"

// azureSource is a path in a container.
type azureSource struct {
	path string
	at   azureAddress
	env  Env
	http http.RoundTripper

	mu     sync.Mutex
	signer azureSigner // nil: not made yet, or refused
}

func openAzure(path string, env Env) (Source, error) {
	at, err := parseAzure(path)
	if err != nil {
		return nil, err
	}
	if at.endpoint == "" {
		at.endpoint = strings.TrimRight(env.Getenv("AZURE_STORAGE_SERVICE_ENDPOINT"), "/")
	}
	if at.endpoint == "" {
		at.endpoint = "https://" + at.account + azureDomain
	}
	return &azureSource{path: strings.TrimRight(path, "/"), at: at, env: env, http: newTransport()}, nil
}

// String returns the path.
func (s *azureSource) String() string { return s.path }

// Close closes idle connections.
func (s *azureSource) Close() error {
	closeIdle(s.http)
	return nil
}

// azurePage is a part of a listing.
type azurePage struct {
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

// List lists the container below the path.
func (s *azureSource) List(ctx context.Context) ([]Object, error) {
	var all []Object
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
			r := Object{Name: name, Size: b.Properties.Size, Tag: strings.Trim(b.Properties.Etag, `"`)}
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
		return nil, fmt.Errorf("%w: the container %s has no blobs below %s", ErrNotFound, s.at.container, s.at.prefix)
	}
	return all, nil
}

func (s *azureSource) page(ctx context.Context, marker string) (p azurePage, err error) {
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
func (s *azureSource) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	at := (&url.URL{Path: "/" + s.at.container + "/" + s.at.prefix + name}).EscapedPath()
	resp, err := s.get(ctx, at, map[string]string{"X-Ms-Range": rangeHeader(offset, length), "If-Match": `"` + tag + `"`})
	if err != nil {
		return nil, err
	}
	if got := strings.Trim(resp.Header.Get("ETag"), `"`); got != "" && got != tag {
		_ = resp.Body.Close()
		return nil, ErrChanged
	}
	return ranged(resp, offset, length)
}

// get sends a request, and once again with newly read credentials if access is denied.
func (s *azureSource) get(ctx context.Context, at string, header map[string]string) (*http.Response, error) {
	sign, fresh, err := s.login()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	resp, err := s.send(ctx, sign, at, header)
	if fresh || !errors.Is(err, ErrDenied) {
		return resp, err
	}
	s.mu.Lock()
	s.signer = nil
	s.mu.Unlock()
	if sign, _, err = s.login(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return s.send(ctx, sign, at, header)
}

func (s *azureSource) send(ctx context.Context, sign azureSigner, at string, header map[string]string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.endpoint+at, http.NoBody)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	r.Header.Set("X-Ms-Version", azureVersion)
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	if err := sign(r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return do(&http.Client{Transport: s.http}, r, azureMessage)
}

// azureMessage returns the text of an error of the service.
func azureMessage(body []byte) string {
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
