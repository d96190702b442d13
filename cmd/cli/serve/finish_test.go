package serve

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/scheduler"
)

func TestCacheFlags(t *testing.T) {
	t.Parallel()
	type pairs = map[string]string
	const directory = "/opt/tritonserver/caches"
	for _, c := range []struct {
		line, environ string
		want          server.Cache
	}{
		{line: "", want: server.Cache{Directory: directory}},
		{line: "--cache-config local,size=10", want: server.Cache{Name: "local", Settings: pairs{"size": "10"}, Directory: directory}},
		{line: "--cache-config=local,size=1 --cache-config=local,size=2 --cache-directory /c", want: server.Cache{Name: "local", Settings: pairs{"size": "2"}, Directory: "/c", PreferLibrary: true}},
		{line: "--response-cache-byte-size=-5", want: server.Cache{Name: "local", Settings: pairs{"size": "-5"}, Directory: directory}},
		{
			line: "--cache-config redis,host=h --cache-config redis,port=1", environ: "TRITONCACHE_REDIS_USERNAME=u TRITONCACHE_REDIS_PASSWORD=p",
			want: server.Cache{Name: "redis", Settings: pairs{"host": "h", "port": "1", "user": "u", "password": "p"}, Directory: directory},
		},
		{
			line: "--cache-config redis,password=q", environ: "TRITONCACHE_REDIS_PASSWORD=p",
			want: server.Cache{Name: "redis", Settings: pairs{"password": "q"}, Directory: directory},
		},
		{
			line: "--cache-config local,size=1", environ: "TRITONCACHE_REDIS_PASSWORD=p",
			want: server.Cache{Name: "local", Settings: pairs{"size": "1"}, Directory: directory},
		},
	} {
		require.Equal(t, c.want, parse(t, c.line, c.environ).Cache, c.line)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	require.Equal(t, server.RateLimiter{}, parse(t, "--rate-limit=off", "").RateLimiter)
	require.Equal(t, server.RateLimiter{Enabled: true, Resources: []scheduler.Resource{
		{Name: "R1", Count: 10, Device: scheduler.AllDevices}, {Name: "R2", Count: 5, Device: 1}, {Name: "", Count: math.MaxUint64, Device: -3},
	}}, parse(t, "--rate-limit=EXECUTION_COUNT --rate-limit-resource R1:10 --rate-limit-resource=R2:5:1 --rate-limit-resource=:-1:-3", "").RateLimiter)
}
