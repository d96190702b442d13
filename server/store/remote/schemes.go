package remote

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Schemes are the openers by scheme, without "://".
type Schemes map[string]Opener

// Scheme returns the scheme of a path such as s3://bucket/models; empty for a local path.
func Scheme(path string) string {
	scheme, _, found := strings.Cut(path, "://")
	if !found || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+") != "" {
		return ""
	}
	return scheme
}

var (
	userInfo   = regexp.MustCompile(`//[^/@]*@`)
	parameters = regexp.MustCompile(`\?[^#]*`)
)

// Hidden returns a path as messages may show it: without what may be a password or a signature.
func Hidden(path string) string {
	switch Scheme(path) {
	case "":
		return path
	case "oci": // its parameters are settings
		return userInfo.ReplaceAllString(path, "//...@")
	}
	return parameters.ReplaceAllString(userInfo.ReplaceAllString(path, "//...@"), "?...")
}

// Open opens the source of a path.
func (s Schemes) Open(path string, env Env) (Source, error) {
	open, known := s[Scheme(path)]
	if !known {
		return nil, fmt.Errorf("%s://: unknown scheme of a model repository; known are %s", Scheme(path), strings.Join(slices.Sorted(maps.Keys(s)), ", "))
	}
	return open(path, env)
}
