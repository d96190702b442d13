package azure

import (
	"regexp"
	"strings"

	"triton/pkg/status"
	"triton/server/store/remote"
)

// address is a path taken apart.
type address struct {
	account   string
	endpoint  string // URL of the account; empty: it follows from the account
	container string
	prefix    string // of the names, with a slash at its end unless it is empty
}

// domain is the domain of accounts.
const domain = ".blob.core.windows.net"

var (
	withScheme = regexp.MustCompile(`^(https?://)([^/]+)/(.+)$`)
	withPort   = regexp.MustCompile(`^()([^/]+:[0-9]+)/(.+)$`)
)

// parse takes apart a path of one of the forms
//
//	as://account/container/path
//	as://account.blob.core.windows.net/container/path
//	as://http://host:port/account/container/path
//	as://host:port/account/container/path
func parse(path string) (address, error) {
	var a address
	rest := strings.TrimPrefix(path, "as://")
	if strings.ContainsAny(rest, "\x00?#@") {
		return a, wrongForm(path)
	}
	m := withScheme.FindStringSubmatch(rest)
	if m == nil {
		m = withPort.FindStringSubmatch(rest)
	}
	host := ""
	if m != nil {
		scheme := m[1]
		if scheme == "" {
			scheme = "http://"
		}
		host, rest = m[2], m[3]
		if account, azure := strings.CutSuffix(host, domain); azure {
			rest = account + "/" + rest
		} else {
			a.endpoint = scheme + host
		}
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	if len(parts) < 2 {
		return a, wrongForm(path)
	}
	a.account, a.container = strings.TrimSuffix(parts[0], domain), parts[1]
	if !isAccount.MatchString(a.account) {
		return a, wrongForm(path)
	}
	if a.endpoint != "" {
		a.endpoint += "/" + a.account
	}
	if len(parts) > 2 {
		a.prefix = strings.Join(parts[2:], "/") + "/"
	}
	return a, nil
}

var isAccount = regexp.MustCompile(`^[0-9a-zA-Z-]+$`)

func wrongForm(path string) error {
	return status.New(status.InvalidArg, "%q is not a path of Azure: it has the form as://account/container/path or, for other endpoints, as://http://host:port/account/container/path",
		remote.Hidden(path))
}
