package perf

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/client"
)

// The certificate of the test server has the names 127.0.0.1 and example.com.
func TestVerification(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"triton","version":"1","extensions":[]}`)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()

	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		host               string
		skipPeer, skipHost bool
		fails              string
	}{
		"all":                    {"127.0.0.1", false, false, "certificate signed by unknown authority"},
		"the chain only":         {"localhost", false, true, "certificate signed by unknown authority"},
		"the name only, address": {"127.0.0.1", true, false, ""},
		"the name only, wrong":   {"localhost", true, false, "not localhost"},
		"nothing":                {"localhost", true, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOptions()
			o.client.Protocol, o.client.Address = client.HTTP, "https://"+c.host+":"+at.Port()
			o.tls.skipPeer, o.tls.skipHost = c.skipPeer, c.skipHost
			require.NoError(t, o.connectSecurely())
			target, err := client.New(o.client)
			require.NoError(t, err)
			defer func() { require.NoError(t, target.Close()) }()
			_, err = target.ServerMetadata(t.Context())
			if c.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fails)
		})
	}
}
