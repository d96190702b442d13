package remote

import (
	"fmt"
	"regexp"
	"strings"

	"triton/server/store/remote/unpack"
)

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

// Options configure the sources of archives and images.
type Options struct {
	// Key refuses archives without its signature in a file of the same name with the ending .sig, and
	// images and artifacts without one as `cosign sign --key` puts it into the registry; nil: signatures
	// are not checked.
	Key    *PublicKey
	Limits unpack.Limits
}

// Open opens the source of a path that begins with its scheme. It makes no request.
func Open(path string, env Env, o Options) (Source, error) {
	switch scheme := Scheme(path); scheme {
	case "s3":
		return openS3(path, env)
	case "gs":
		return openGCS(path, env)
	case "as":
		return openAzure(path, env)
	case "oci":
		return openOCI(path, env, o)
	case "http", "https":
		return openArchive(path, env, o)
	default:
		return nil, fmt.Errorf("%s://: unknown scheme of a model repository; known are as, gs, http, https, oci, s3", scheme)
	}
}
