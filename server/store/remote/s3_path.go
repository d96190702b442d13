package remote

import (
	"net/url"
	"regexp"
	"strings"

	"triton/pkg/status"
)

// s3Address is a path taken apart.
type s3Address struct {
	endpoint string // URL without path; empty: Amazon's
	bucket   string
	prefix   string // of the names, with a slash at its end unless it is empty
}

var (
	s3WithScheme = regexp.MustCompile(`^(https?://[^/]+)/(.+)$`)
	s3WithPort   = regexp.MustCompile(`^([^/]+:[0-9]+)/(.+)$`)
)

// parseS3 takes apart a path of one of the forms
//
//	s3://bucket/path
//	s3://host:port/bucket/path
//	s3://http://host:port/bucket/path
//	s3://https://host:port/bucket/path
func parseS3(path string) (s3Address, error) {
	var a s3Address
	rest := strings.TrimPrefix(path, "s3://")
	if m := s3WithScheme.FindStringSubmatch(rest); m != nil {
		a.endpoint, rest = m[1], m[2]
	} else if m := s3WithPort.FindStringSubmatch(rest); m != nil {
		a.endpoint, rest = "http://"+m[1], m[2]
	}
	if a.endpoint != "" {
		if u, err := url.Parse(a.endpoint); err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return a, wrongS3Form(path)
		}
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	if len(parts) == 0 || strings.ContainsAny(rest, "\x00?#@") || strings.Contains(parts[0], ":") {
		return a, wrongS3Form(path)
	}
	a.bucket = parts[0]
	if len(parts) > 1 {
		a.prefix = strings.Join(parts[1:], "/") + "/"
	}
	return a, nil
}

func wrongS3Form(path string) error {
	return status.New(status.InvalidArg,
		"%q is not a path of S3: it has one of the forms s3://bucket/path, s3://host:port/bucket/path and s3://https://host:port/bucket/path", Hidden(path))
}
