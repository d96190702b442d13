package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"triton/server"
	"triton/server/repository"
	"triton/server/scheduler"
	"triton/server/servertest"
)

// The number of instances changes while requests run, by a changed file in poll control and by an override
// in explicit control: no request fails, sequences keep their state, counters continue. It holds
// for ONNX and Python models, rate-limited ones, and the steps of an ensemble.
func TestInstancesChangeUnderTraffic(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	t.Run("poll", func(t *testing.T) {
		t.Parallel()
		changeInstances(t, func(o *server.Options) {
			o.Models.Control, o.Models.PollInterval, o.Models.SettleTime = repository.ControlPoll, time.Hour, 50*time.Millisecond
		}, func(s *servertest.Server, path, name, config string) error {
			return os.WriteFile(path, []byte(config), 0o600)
		})
	})
	t.Run("load with an override", func(t *testing.T) {
		t.Parallel()
		client := newClient(t)
		changeInstances(t, func(o *server.Options) {
			o.Models.Control, o.Models.Startup = repository.ControlExplicit, []string{"*"}
		}, func(s *servertest.Server, path, name, config string) error {
			if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
				return err
			}
			code, text, err := post(client, "http://"+s.HTTP+"/v2/repository/models/"+name+"/load", "{}")
			if err == nil && code != 200 {
				err = fmt.Errorf("%d: %s", code, text)
			}
			return err
		})
	})
}

var instanceCount = regexp.MustCompile(`instance_group \{ count: \d`)

func changeInstances(t *testing.T, control func(*server.Options), change func(s *servertest.Server, path, name, config string) error) {
	root := t.TempDir()
	acc := stateful{
		name: "acc", op: "Add", batch: 4, dims: "1", strategy: "direct { }",
		initial: `initial_state { name: "i" data_type: TYPE_INT32 dims: [ 1 ] zero_data: true }`,
	}
	acc.write(t, root)
	writePython(t, root, "py", "instance_group { count: 1 kind: KIND_CPU }", doubling)
	put := func(name, config string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, "config.pbtxt"), []byte(config), 0o600))
	}
	put("a", servertest.Identity("INT32", "-1", 0)+"instance_group { count: 1 kind: KIND_CPU }")
	put("b", servertest.Identity("INT32", "-1", 0)+`instance_group { count: 1 kind: KIND_CPU rate_limiter { resources { name: "R" count: 1 } } }`)
	put("lin", linear)
	s := startPython(t, root, servertest.With(func(o *server.Options) {
		o.RateLimiter = server.RateLimiter{Enabled: true, Resources: []scheduler.Resource{{Name: "R", Count: 3, Device: scheduler.AllDevices}}}
		control(o)
	}))
	client := newClient(t)
	var stop atomic.Bool
	var sent [4]atomic.Uint64
	infer := func(name, body, want string) error {
		code, text, err := post(client, "http://"+s.HTTP+"/v2/models/"+name+"/infer", body)
		if err == nil && (code != 200 || !strings.Contains(text, want)) {
			err = fmt.Errorf("%s: %d %s, not %s", name, code, text, want)
		}
		return err
	}
	var all errgroup.Group
	for i, c := range []struct{ name, body, want string }{
		{"py", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[4]}]}`, `"data":[8`},
		{"b", `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[2],"data":[1,2]}]}`, `"data":[1,2]`},
		{"lin", `{"inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[3,4]}]}`, `"data":[3,4]`},
	} {
		for range 2 {
			all.Go(func() error {
				for !stop.Load() {
					if err := infer(c.name, c.body, c.want); err != nil {
						return err
					}
					sent[i].Add(1)
					time.Sleep(time.Millisecond)
				}
				return nil
			})
		}
	}
	for id := 1; id <= 3; id++ { // sequences, each longer than a change
		all.Go(func() error {
			for run := 0; !stop.Load(); run++ {
				for k := range 60 {
					flags := map[int]string{0: "S", 59: "E"}[k]
					if err := infer("acc", accumulate(id, flags, id), fmt.Sprintf(`"data":[%d]`, id*(k+1))); err != nil {
						return fmt.Errorf("run %d of sequence %d, step %d: %w", run, id, k, err)
					}
					sent[3].Add(1)
					time.Sleep(2 * time.Millisecond)
				}
			}
			return nil
		})
	}
	for _, count := range []int{3, 2, 4, 1} {
		for _, name := range []string{"acc", "py", "a", "b"} {
			path := filepath.Join(root, name, "config.pbtxt")
			config, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := instanceCount.ReplaceAllString(string(config), fmt.Sprintf("instance_group { count: %d", count))
			require.NotEqual(t, string(config), changed)
			require.NoError(t, change(s, path, name, changed))
		}
		for _, name := range []string{"acc", "py", "a", "b"} {
			require.Eventually(t, func() bool {
				code, text := get(t, client, "http://"+s.HTTP+"/v2/models/"+name+"/config")
				var config struct {
					InstanceGroup []struct{ Count int } `json:"instance_group"`
				}
				return code == 200 && json.Unmarshal([]byte(text), &config) == nil && config.InstanceGroup[0].Count == count
			}, time.Minute, 10*time.Millisecond, "%s has %d instances", name, count)
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop.Store(true)
	require.NoError(t, all.Wait())
	for i, name := range []string{"py", "b", "lin", "acc"} {
		want := sent[i].Load()
		if name == "b" {
			want += sent[2].Load() // as a step
		}
		code, text := get(t, client, "http://"+s.HTTP+"/v2/models/"+name+"/stats")
		require.Equal(t, 200, code)
		require.Contains(t, text, fmt.Sprintf(`"inference_count":%d,`, want), "%s: counters continue", name)
	}
}
