package remote

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"oras.land/oras-go/v2/registry"
)

const ociScheme = "oci://"

// ociLocation is a repository path: oci://registry/name:tag?path=/models.
type ociLocation struct {
	ref    registry.Reference
	within string // the folder of the image; empty: an annotation of the image says it
	plain  bool   // without encryption
}

func parseOCI(path string) (ociLocation, error) {
	name, query, _ := strings.Cut(strings.TrimPrefix(path, ociScheme), "?")
	if host, _, _ := strings.Cut(name, "/"); strings.Contains(host, "@") {
		return ociLocation{}, errors.New("the path of an image or artifact has no user and no password: credentials are those of `docker login`")
	}
	ref, err := registry.ParseReference(name)
	if err != nil {
		return ociLocation{}, fmt.Errorf("%s: the path of an image or artifact has the form oci://registry/name:tag or oci://registry/name@sha256:<digest>: %w", path, err)
	}
	if d, err := ref.Digest(); err == nil && !isOCIDigest(d.String()) {
		return ociLocation{}, fmt.Errorf("%s: only digests with SHA-256 are supported", path)
	}
	if ref.Reference == "" {
		ref.Reference = "latest"
	}
	fields, err := url.ParseQuery(query)
	if err != nil {
		return ociLocation{}, fmt.Errorf("%s: the part after ? cannot be parsed", path)
	}
	l := ociLocation{ref: ref, plain: loopback(ref.Registry)}
	for field, values := range fields {
		switch field {
		case "path":
			l.within = strings.Trim(values[0], "/")
		case "plain":
			if l.plain, err = strconv.ParseBool(values[0]); err != nil {
				return ociLocation{}, fmt.Errorf("%s: plain must be true or false", path)
			}
		default:
			return ociLocation{}, fmt.Errorf("%s: unknown setting %q after ?; known are path and plain", path, field)
		}
	}
	return l, nil
}

func (l ociLocation) String() string { return ociScheme + l.ref.String() }

// pinned returns the digest in the path; empty: the path has a tag.
func (l ociLocation) pinned() string {
	if d, err := l.ref.Digest(); err == nil {
		return d.String()
	}
	return ""
}

// address returns the address of a manifest or blob.
func (l ociLocation) address(kind, name string) string {
	u := url.URL{Scheme: "https", Host: l.ref.Host(), Path: "/v2/" + l.ref.Repository + "/" + kind + "/" + name}
	if l.plain {
		u.Scheme = "http"
	}
	return u.String()
}
