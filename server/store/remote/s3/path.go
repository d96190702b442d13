package s3

import (
	"net/url"
	"regexp"
	"strings"

	"triton/pkg/status"
	"triton/server/store/remote"
)

// address is a path taken apart.
type address struct {
	endpoint string // URL without path; empty: Amazon's
	bucket   string
	prefix   string // of the names, with a slash at its end unless it is empty
}

var (
	withScheme = regexp.MustCompile(`^(https?://[^/]+)/(.+)$`)
	withPort   = regexp.MustCompile(`^([^/]+:[0-9]+)/(.+)$`)
)

// parse takes apart a path of one of the forms
//
//	s3://bucket/path
//	s3://host:port/bucket/path
//	s3://http://host:port/bucket/path
//	s3://https://host:port/bucket/path
func parse(path string) (address, error) {
	var a address
	rest := strings.TrimPrefix(path, "s3://")
	if m := withScheme.FindStringSubmatch(rest); m != nil {
		a.endpoint, rest = m[1], m[2]
	} else if m := withPort.FindStringSubmatch(rest); m != nil {
		a.endpoint, rest = "http://"+m[1], m[2]
	}
	if a.endpoint != "" {
		if u, err := url.Parse(a.endpoint); err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return a, wrongForm(path)
		}
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	if len(parts) == 0 || strings.ContainsAny(rest, "\x00?#@") || strings.Contains(parts[0], ":") {
		return a, wrongForm(path)
	}
	a.bucket = parts[0]
	if len(parts) > 1 {
		a.prefix = strings.Join(parts[1:], "/") + "/"
	}
	return a, nil
}

func wrongForm(path string) error {
	return status.New(status.InvalidArg,
		"%q is not a path of S3: it has one of the forms s3://bucket/path, s3://host:port/bucket/path and s3://https://host:port/bucket/path", remote.Hidden(path))
}
