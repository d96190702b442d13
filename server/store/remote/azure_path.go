package remote

import (
	"regexp"
	"strings"

	"triton/pkg/status"
)

// azureAddress is a path taken apart.
type azureAddress struct {
	account   string
	endpoint  string // URL of the account; empty: it follows from the account
	container string
	prefix    string // of the names, with a slash at its end unless it is empty
}

// azureDomain is the domain of accounts.
const azureDomain = ".blob.core.windows.net"

var (
	azureWithScheme = regexp.MustCompile(`^(https?://)([^/]+)/(.+)$`)
	azureWithPort   = regexp.MustCompile(`^()([^/]+:[0-9]+)/(.+)$`)
)

// parseAzure takes apart a path of one of the forms
//
//	as://account/container/path
//	as://account.blob.core.windows.net/container/path
//	as://http://host:port/account/container/path
//	as://host:port/account/container/path
func parseAzure(path string) (azureAddress, error) {
	var a azureAddress
	rest := strings.TrimPrefix(path, "as://")
	if strings.ContainsAny(rest, "\x00?#@") {
		return a, wrongAzureForm(path)
	}
	m := azureWithScheme.FindStringSubmatch(rest)
	if m == nil {
		m = azureWithPort.FindStringSubmatch(rest)
	}
	host := ""
	if m != nil {
		scheme := m[1]
		if scheme == "" {
			scheme = "http://"
		}
		host, rest = m[2], m[3]
		if account, azure := strings.CutSuffix(host, azureDomain); azure {
			rest = account + "/" + rest
		} else {
			a.endpoint = scheme + host
		}
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '/' })
	if len(parts) < 2 {
		return a, wrongAzureForm(path)
	}
	a.account, a.container = strings.TrimSuffix(parts[0], azureDomain), parts[1]
	if !isAzureAccount.MatchString(a.account) {
		return a, wrongAzureForm(path)
	}
	if a.endpoint != "" {
		a.endpoint += "/" + a.account
	}
	if len(parts) > 2 {
		a.prefix = strings.Join(parts[2:], "/") + "/"
	}
	return a, nil
}

var isAzureAccount = regexp.MustCompile(`^[0-9a-zA-Z-]+$`)

func wrongAzureForm(path string) error {
	return status.New(status.InvalidArg, "%q is not a path of Azure: it has the form as://account/container/path or, for other endpoints, as://http://host:port/account/container/path",
		Hidden(path))
}
