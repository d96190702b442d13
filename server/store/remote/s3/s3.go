// Package s3 is the source of repository paths in Amazon S3 and in the stores that speak its
// protocol.
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"triton/server/store/remote"
	"triton/server/store/remote/web"
)

// amazon is the endpoint of paths that name none. The client finds the one of the bucket's region.
const amazon = "https://s3.amazonaws.com"

// anyRegion signs requests to stores that have no regions.
const anyRegion = "us-east-1"

// source is a path in a bucket.
type source struct {
	path string
	at   address
	env  remote.Env
	http http.RoundTripper

	mu     sync.Mutex
	client *minio.Core // nil: not made yet, or with credentials that were refused
}

// Open returns the source of a path. It makes no request.
func Open(path string, env remote.Env) (remote.Source, error) {
	at, err := parse(path)
	if err != nil {
		return nil, err
	}
	if at.endpoint == "" {
		at.endpoint = cmp.Or(env.Getenv("AWS_ENDPOINT_URL_S3"), env.Getenv("AWS_ENDPOINT_URL"))
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

// List lists the bucket below the path.
func (s *source) List(ctx context.Context) ([]remote.Object, error) {
	var all []remote.Object
	err := s.with(func(c *minio.Core) error {
		all = nil
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the goroutine of the listing
		for o := range c.Client.ListObjects(ctx, s.at.bucket, minio.ListObjectsOptions{Prefix: s.at.prefix, Recursive: true}) {
			if o.Err != nil {
				return o.Err
			}
			name, below := strings.CutPrefix(o.Key, s.at.prefix)
			if !below {
				return fmt.Errorf("the store listed %q, which is not below %q", o.Key, s.at.prefix)
			}
			if name != "" {
				all = append(all, object(name, o))
			}
		}
		return ctx.Err()
	})
	if err == nil && len(all) == 0 && s.at.prefix != "" {
		return nil, fmt.Errorf("%w: the bucket %s has no objects below %s", remote.ErrNotFound, s.at.bucket, s.at.prefix)
	}
	return all, err
}

func object(name string, o minio.ObjectInfo) remote.Object {
	tag := strings.Trim(o.ETag, `"`)
	r := remote.Object{Name: name, Size: o.Size, Tag: tag, Modified: o.LastModified}
	if len(tag) == 32 && strings.Trim(tag, "0123456789abcdef") == "" { // of an upload in one part
		r.MD5 = tag
	}
	return r
}

// Open reads a range of an object.
func (s *source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := s.with(func(c *minio.Core) error {
		var o minio.GetObjectOptions
		if err := errors.Join(o.SetRange(offset, offset+length-1), o.SetMatchETag(tag)); err != nil {
			return err
		}
		b, info, header, err := c.GetObject(ctx, s.at.bucket, s.at.prefix+name, o)
		if err != nil {
			return err
		}
		if got := strings.Trim(info.ETag, `"`); got != "" && got != tag { // a store without conditions
			_ = b.Close()
			return remote.ErrChanged
		}
		resp := &http.Response{StatusCode: http.StatusOK, Body: b, Header: header, ContentLength: info.Size}
		if header.Get("Content-Range") != "" {
			resp.StatusCode = http.StatusPartialContent
		}
		body, err = web.Ranged(resp, offset, length)
		return err
	})
	return body, err
}

// with calls do with a client, and once again with newly read credentials if access is denied.
func (s *source) with(do func(c *minio.Core) error) error {
	c, fresh, err := s.connect()
	if err != nil {
		return err
	}
	if err = classify(do(c)); fresh || !errors.Is(err, remote.ErrDenied) {
		return err
	}
	s.forget(c)
	if c, _, err = s.connect(); err != nil {
		return err
	}
	return classify(do(c))
}

// connect returns the client, and reports whether its credentials were read now.
func (s *source) connect() (c *minio.Core, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, false, nil
	}
	l, err := s.login()
	if err != nil {
		return nil, true, fmt.Errorf("%w: %w", remote.ErrDenied, err)
	}
	lookup := minio.BucketLookupPath
	if s.at.endpoint == "" {
		lookup = minio.BucketLookupAuto
	} else {
		l.region = cmp.Or(l.region, anyRegion)
	}
	u, err := url.Parse(cmp.Or(s.at.endpoint, amazon))
	if err != nil {
		return nil, true, errors.New("the endpoint in AWS_ENDPOINT_URL is not a URL")
	}
	c, err = minio.NewCore(u.Host, &minio.Options{
		Creds: l.creds, Secure: u.Scheme == "https", Transport: s.http, Region: l.region, BucketLookup: lookup,
		MaxRetries: 1, // the downloader repeats
	})
	if err != nil {
		return nil, true, err
	}
	s.client = c
	return c, true, nil
}

// forget drops a client whose credentials were refused.
func (s *source) forget(c *minio.Core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		s.client = nil
	}
}

// classify turns an answer of the store into an error of package remote.
func classify(err error) error {
	var answer minio.ErrorResponse
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	why := fmt.Sprintf("%s: %s", answer.Code, answer.Message)
	switch answer.Code {
	case "NoSuchBucket", "NoSuchKey", "InvalidBucketName":
		return fmt.Errorf("%w: %s", remote.ErrNotFound, why)
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthorizationHeaderMalformed", "RequestTimeTooSkewed":
		return fmt.Errorf("%w: %s", remote.ErrDenied, why)
	}
	if answer.StatusCode == 0 {
		return err
	}
	return web.StatusError(answer.StatusCode, why)
}
