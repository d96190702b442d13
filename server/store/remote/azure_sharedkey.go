package remote

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// azureSigned are the headers whose values begin the text that is signed, in this order. Requests that
// only read have no others than these.
var azureSigned = []string{
	"Content-Encoding", "Content-Language", "", "Content-MD5", "Content-Type", "Date",
	"If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range",
}

// sharedKey signs with the key of an account.
func sharedKey(account string, key []byte) azureSigner {
	return func(r *http.Request) error {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signedText(account, r)))
		r.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		return nil
	}
}

// signedText returns the text that is signed: method, headers, path and query in canonical form.
func signedText(account string, r *http.Request) string {
	lines := []string{r.Method}
	for _, name := range azureSigned { // the empty one is the length of the body, which is empty for 0
		lines = append(lines, r.Header.Get(name))
	}
	var own []string
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+strings.Join(values, ","))
		}
	}
	slices.Sort(own)
	lines = append(lines, own...)
	lines = append(lines, "/"+account+r.URL.EscapedPath())
	var query []string
	for name, values := range r.URL.Query() {
		slices.Sort(values)
		query = append(query, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	return strings.Join(append(lines, query...), "\n")
}
