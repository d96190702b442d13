package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

func TestProfiles(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, identityModel("m"))
	c := newClient(t)
	at := "http://" + s.Metrics + "/debug/pprof"
	for path, want := range map[string]string{
		"":                    "/debug/pprof/", // the list
		"/":                   "full goroutine stack dump",
		"/goroutine?debug=1":  `"model":"m"`,
		"/heap?debug=1":       "heap profile: ",
		"/profile?seconds=1":  "\x1f\x8b", // compressed
		"/trace?seconds=0.01": "go 1.",
		"/heap?seconds=1":     "\x1f\x8b", // a difference
	} {
		code, text := get(t, c, at+path)
		require.Equal(t, http.StatusOK, code, path+text)
		require.Contains(t, text, want, path)
	}
	for path, want := range map[string]int{
		"/profile?seconds=61": 400, "/heap?%zz": 400, "/cmdline": 404, "/symbol": 404, "/nosuch": 404,
	} {
		code, text := get(t, c, at+path)
		require.Equal(t, want, code, path+text)
	}
	_, text := get(t, c, at+"/heap?%zz")
	require.Contains(t, text, `invalid URL escape "%zz"`)
	_, text = get(t, c, at+"/trace?seconds=61")
	require.Contains(t, text, "at most 60")
	code, text := get(t, c, at+"ile")
	require.Equal(t, http.StatusOK, code)
	require.Empty(t, text, "another path")
}

// Without access control other machines get no profile; with it, the right decides.
func TestRightToProfiles(t *testing.T) {
	t.Parallel()
	const policy = `
rules:
- {who: ['key:operator'], allow: [profile]}
- {who: ['key:scraper'], allow: [metrics]}
`
	c := newClient(t)
	everywhere := servertest.With(func(o *server.Options) { o.Metrics.Address = "0.0.0.0" })
	open := servertest.Start(t, everywhere)
	_, port, _ := strings.Cut(open.Metrics, "]:")
	if port == "" {
		_, port, _ = strings.Cut(open.Metrics, ":")
	}
	code, text := get(t, c, "http://127.0.0.1:"+port+"/debug/pprof/heap")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, text, "--access-policy")

	keys, o := rights(t, policy, "operator", "scraper")
	s := servertest.Start(t, o)
	code, text = sendAs(t, c, "GET", "http://"+s.Metrics+"/debug/pprof/heap?debug=1", keys["operator"], "")
	require.Equal(t, http.StatusOK, code, text)
	code, _ = sendAs(t, c, "GET", "http://"+s.Metrics+"/metrics", keys["operator"], "")
	require.Equal(t, http.StatusForbidden, code)
	code, _ = sendAs(t, c, "GET", "http://"+s.Metrics+"/debug/pprof/heap", keys["scraper"], "")
	require.Equal(t, http.StatusForbidden, code)
}
