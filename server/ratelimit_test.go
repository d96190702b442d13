package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/pkg/status"
	"triton/server"
	"triton/server/repository"
	"triton/server/scheduler"
	"triton/server/servertest"
)

// limited returns an identity model whose instance needs resources for each batch.
func limited(delay string, resources string) string {
	return servertest.Identity("INT32", "4", 8) + `parameters { key: "execute_delay_ms" value { string_value: "` + delay + `" } }
instance_group { kind: KIND_CPU rate_limiter { ` + resources + ` } }
`
}

func rates(given ...scheduler.Resource) servertest.Option {
	return servertest.With(func(o *server.Options) {
		o.RateLimiter = server.RateLimiter{Enabled: true, Resources: given}
		o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
	})
}

func TestModelsTakeTurns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given   []scheduler.Resource
		atLeast time.Duration
	}{
		"one at a time": {nil, 400 * time.Millisecond},
		"room for both": {[]scheduler.Resource{{Name: "R", Count: 6, Device: scheduler.AllDevices}}, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Start(t, rates(test.given...),
				servertest.Model("a", limited("20", `resources { name: "R" count: 4 }`)+warm),
				servertest.Model("b", limited("20", `resources { name: "R" count: 2 } priority: 2`)))
			client, begin := newClient(t), time.Now()
			var all errgroup.Group
			for i := range 20 {
				all.Go(func() error {
					code, text, err := post(client, fmt.Sprintf("http://%s/v2/models/%c/infer", s.HTTP, "ab"[i%2]), body)
					if err == nil && code != 200 {
						err = fmt.Errorf("%d: %s", code, text)
					}
					return err
				})
			}
			require.NoError(t, all.Wait())
			require.GreaterOrEqual(t, time.Since(begin), test.atLeast)
			require.NoError(t, s.Service().Unload(t.Context(), "a", false))
			code, _, err := post(client, "http://"+s.HTTP+"/v2/models/b/infer", body)
			require.NoError(t, err)
			require.Equal(t, 200, code)
		})
	}
}

func TestResourcesThatAreNotThereFailTheLoad(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, rates(scheduler.Resource{Name: "R1", Count: 3, Device: scheduler.AllDevices}))
	load := func(name, resources string) error { return loadModel(t, s, name, limited("0", resources)) }
	err := load("m1", `resources { name: "R1" count: 4 }`)
	require.Error(t, err)
	require.Contains(t, status.From(err).Msg, `version 1 is at UNAVAILABLE state: Invalid argument: Resource count for "R1" is limited to 3 `+
		`which will prevent scheduling of one or more model instances, the minimum required count is 4;`)
	require.NoError(t, load("m2", `resources { name: "R1" count: 2 }`))
	require.NoError(t, load("m2", `resources { name: "R1" count: 3 }`), "a second load of the same model")
	err = load("m3", `resources { name: "R1" count: 1 global: true }`)
	require.Error(t, err)
	require.Contains(t, status.From(err).Msg, `Invalid argument: Resource "R1" is present as both global and device-specific resource in the model configuration.;`)
}

// The shutdown of the server does not wait for resources that are never free.
func TestADrainDoesNotWaitForResources(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, rates(), servertest.With(func(o *server.Options) { o.ExitTimeout = 100 * time.Millisecond }),
		servertest.Model("hung", limited("3600000", `resources { name: "R" count: 1 }`)),
		servertest.Model("stuck", limited("0", `resources { name: "R" count: 1 }`)))
	var requests sync.WaitGroup
	client := newClient(t)
	ask := func(model string) {
		requests.Go(func() { _, _, _ = post(client, "http://"+s.HTTP+"/v2/models/"+model+"/infer", body) })
	}
	ask("hung")
	hasty := newClient(t)
	hasty.Timeout = 2 * time.Second     // longer than a request takes on a busy machine
	require.Eventually(t, func() bool { // until the resource is gone
		_, _, err := post(hasty, "http://"+s.HTTP+"/v2/models/stuck/infer", body)
		return err != nil
	}, time.Minute, time.Millisecond)
	ask("stuck")
	require.Eventually(t, func() bool {
		_, text := get(t, client, "http://"+s.Metrics+"/metrics")
		return strings.Contains(text, `nv_inference_pending_request_count{model="stuck",version="1"} 1`)
	}, time.Minute, time.Millisecond)
	s.Interrupt()
	require.Error(t, s.Wait())
	requests.Wait()
}

// A sequence stays on its instance, also when every batch of it waits for a grant.
func TestSequencesTakeTurns(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile(filepath.Join("backend", "builtin", "testdata", "configs", "custom_sequence_int32.pbtxt"))
	require.NoError(t, err)
	s := servertest.Start(t, rates(), servertest.Model("custom_sequence_int32", strings.Replace(string(patient(t, config)), "instance_group { kind: KIND_CPU }",
		`instance_group { count: 2 kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } } }`, 1)))
	client := newClient(t)
	for v := 1; v <= 9; v++ {
		flags := map[int]string{1: "S", 9: "E"}[v]
		_, answer, err := post(client, "http://"+s.HTTP+"/v2/models/custom_sequence_int32/infer", accumulate(5, flags, v))
		require.NoError(t, err)
		require.Contains(t, answer, fmt.Sprintf(`"data":[%d]`, v*(v+1)/2))
	}
	got := countersOf(t, s, "custom_sequence_int32")
	require.EqualValues(t, 9, got.GetExecutionCount())
	require.EqualValues(t, 9, got.GetInferenceCount())
}
