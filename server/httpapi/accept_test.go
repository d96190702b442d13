package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
)

// TestAcceptEncoding compares with the encodings that Triton chose.
func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	svc := newService()
	addr := start(t, svc, newServer(svc, httpapi.Options{Pool: svc.pool}))
	for header, want := range map[string]string{
		"gzip;q=0.5,deflate;q=0.4":            "gzip",
		"gzip; q=2, deflate":                  "deflate",
		"gzip;q= 2, deflate":                  "gzip",
		"gzip;x=1;q=2, deflate":               "deflate",
		"gzip;q=0.5;x=1":                      "gzip",
		"deflate, gzip;q=2abc":                "gzip",
		"deflate, gzip;q=1e5x":                "gzip",
		"deflate, gzip;q=infx":                "gzip",
		"gzip;q=1e,deflate;q=.9":              "gzip",
		"gzip;q=1e+,deflate;q=1.5":            "deflate",
		"gzip;q=1_0,deflate":                  "gzip",
		"gzip;q=2;q=3,deflate;q=2.5":          "deflate",
		"gzip;;q=2,deflate":                   "deflate",
		"gzip ;q=2,deflate":                   "deflate",
		"gzip;q=2 ,deflate":                   "gzip",
		"gzip;q=-,deflate;q=.1":               "deflate",
		"gzip;q=nan,deflate;q=.1":             "deflate",
		"gzip;q,deflate":                      "deflate",
		"gzip;q=":                             "",
		"gzip;q=-1":                           "",
		"gzip;q=0":                            "",
		"*":                                   "",
		"identity;q=0.5, gzip;q=0.5":          "",
		",,gzip":                              "gzip",
		"deflate;q=0.1,gzip;q=1e400":          "gzip", // here Triton ends
		"gzip;q=" + strings.Repeat("1", 4000): "gzip",
	} {
		reply := dial(t, addr, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s",
			inferPath, header, len(one(good)), one(good)), false)
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(reply)), nil)
		require.NoError(t, err)
		require.Equal(t, want, resp.Header.Get("Content-Encoding"), header)
	}
}

// TestMislabeled: as in Triton, gzip and deflate may be labeled with each other's name.
func TestMislabeled(t *testing.T) {
	t.Parallel()
	svc := newService()
	addr := start(t, svc, newServer(svc, httpapi.Options{Pool: svc.pool}))
	for _, kind := range []string{"gzip", "deflate"} {
		for _, label := range []string{"gzip", "deflate"} {
			code, text := post(t, addr, inferPath, packed(kind, one(good)), "Content-Encoding", label)
			require.Equal(t, 200, code, "%s called %s: %s", kind, label, text)
		}
	}
}
