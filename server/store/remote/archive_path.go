package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// archiveLocation is a repository path: https://host/models.tar.gz#sha256=<hex>&path=models.
type archiveLocation struct {
	url    *url.URL // without the fragment
	digest string   // the SHA-256 that the user expects; empty: none
	within string   // the folder in the archive; empty: all
}

func parseArchive(path string) (archiveLocation, error) {
	u, err := url.Parse(path)
	if err != nil {
		return archiveLocation{}, errors.New("the address of an archive cannot be parsed") // the error would show its secrets
	}
	l := archiveLocation{url: u}
	fields, err := url.ParseQuery(u.Fragment)
	if err != nil {
		return archiveLocation{}, fmt.Errorf("%s: the part after # cannot be parsed", l)
	}
	for name, values := range fields {
		switch name {
		case "sha256":
			l.digest = strings.ToLower(strings.TrimPrefix(values[0], "sha256:"))
		case "path":
			l.within = strings.Trim(values[0], "/")
		default:
			return archiveLocation{}, fmt.Errorf("%s: unknown setting %q after #; known are sha256 and path", l, name)
		}
	}
	if _, given := fields["sha256"]; given && !isSHA256(l.digest) {
		return archiveLocation{}, fmt.Errorf("%s: sha256 must have 64 hexadecimal digits", l)
	}
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.Host == "" || strings.Trim(u.Path, "/") == "":
		return archiveLocation{}, fmt.Errorf("%s: the address of an archive has the form https://host/models.tar.gz", l)
	case u.Scheme == "http" && l.digest == "" && !loopback(u.Host):
		return archiveLocation{}, fmt.Errorf("%s: an archive over unencrypted HTTP needs its checksum: add #sha256=<digest>, or use https", l)
	}
	return l, nil
}

// String returns the address without passwords and parameters, which may be secrets.
func (l archiveLocation) String() string {
	u := *l.url
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

// identity returns a text that no other address has. Passwords and parameters, which may be secrets,
// are in it only as a hash.
func (l archiveLocation) identity() string {
	sum := sha256.Sum256([]byte(l.url.String()))
	return l.String() + " " + hex.EncodeToString(sum[:])
}

// beside returns the address of a file that has the archive's name and another ending.
func (l archiveLocation) beside(ending string) string {
	u := *l.url
	u.Path += ending
	u.RawPath = ""
	return u.String()
}

func isSHA256(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32
}
