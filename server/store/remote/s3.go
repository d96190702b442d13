// The source of repository paths in Amazon S3 and in the stores that speak its protocol.

package remote

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
)

// amazon is the endpoint of paths that name none. The client finds the one of the bucket's region.
const amazon = "https://s3.amazonaws.com"

// anyRegion signs requests to stores that have no regions.
const anyRegion = "us-east-1"

// s3Source is a path in a bucket.
type s3Source struct {
	path string
	at   s3Address
	env  Env
	http http.RoundTripper

	mu     sync.Mutex
	client *minio.Core // nil: not made yet, or with credentials that were refused
}

func openS3(path string, env Env) (Source, error) {
	at, err := parseS3(path)
	if err != nil {
		return nil, err
	}
	if at.endpoint == "" {
		at.endpoint = cmp.Or(env.Getenv("AWS_ENDPOINT_URL_S3"), env.Getenv("AWS_ENDPOINT_URL"))
	}
	return &s3Source{path: strings.TrimRight(path, "/"), at: at, env: env, http: newTransport()}, nil
}

// String returns the path.
func (s *s3Source) String() string { return s.path }

// Close closes idle connections.
func (s *s3Source) Close() error {
	closeIdle(s.http)
	return nil
}

// List lists the bucket below the path.
func (s *s3Source) List(ctx context.Context) ([]Object, error) {
	var all []Object
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
				all = append(all, s3Object(name, o))
			}
		}
		return ctx.Err()
	})
	if err == nil && len(all) == 0 && s.at.prefix != "" {
		return nil, fmt.Errorf("%w: the bucket %s has no objects below %s", ErrNotFound, s.at.bucket, s.at.prefix)
	}
	return all, err
}

func s3Object(name string, o minio.ObjectInfo) Object {
	tag := strings.Trim(o.ETag, `"`)
	r := Object{Name: name, Size: o.Size, Tag: tag, Modified: o.LastModified}
	if len(tag) == 32 && strings.Trim(tag, "0123456789abcdef") == "" { // of an upload in one part
		r.MD5 = tag
	}
	return r
}

// Open reads a range of an object.
func (s *s3Source) Open(ctx context.Context, name, tag string, offset, length int64) (io.ReadCloser, error) {
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
			return ErrChanged
		}
		resp := &http.Response{StatusCode: http.StatusOK, Body: b, Header: header, ContentLength: info.Size}
		if header.Get("Content-Range") != "" {
			resp.StatusCode = http.StatusPartialContent
		}
		body, err = ranged(resp, offset, length)
		return err
	})
	return body, err
}

// with calls do with a client, and once again with newly read credentials if access is denied.
func (s *s3Source) with(do func(c *minio.Core) error) error {
	c, fresh, err := s.connect()
	if err != nil {
		return err
	}
	if err = classifyS3(do(c)); fresh || !errors.Is(err, ErrDenied) {
		return err
	}
	s.forget(c)
	if c, _, err = s.connect(); err != nil {
		return err
	}
	return classifyS3(do(c))
}

// connect returns the client, and reports whether its credentials were read now.
func (s *s3Source) connect() (c *minio.Core, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, false, nil
	}
	l, err := s.login()
	if err != nil {
		return nil, true, fmt.Errorf("%w: %w", ErrDenied, err)
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
func (s *s3Source) forget(c *minio.Core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == c {
		s.client = nil
	}
}

// classifyS3 turns an answer of the store into an error of package remote.
func classifyS3(err error) error {
	var answer minio.ErrorResponse
	if err == nil || !errors.As(err, &answer) {
		return err
	}
	why := fmt.Sprintf("%s: %s", answer.Code, answer.Message)
	switch answer.Code {
	case "NoSuchBucket", "NoSuchKey", "InvalidBucketName":
		return fmt.Errorf("%w: %s", ErrNotFound, why)
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthorizationHeaderMalformed", "RequestTimeTooSkewed":
		return fmt.Errorf("%w: %s", ErrDenied, why)
	}
	if answer.StatusCode == 0 {
		return err
	}
	return statusError(answer.StatusCode, why)
}
