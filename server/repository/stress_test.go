package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// TestControlUnderLoad loads, unloads, finds, calls and polls at the same time. Every model that
// is returned can be used, and at the end all memory is released.
func TestControlUnderLoad(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/config.pbtxt": identity, "a/1/f": "", "b/config.pbtxt": identity, "b/1/f": "",
		"bad/config.pbtxt": strings.Replace(identity, "identity", "fault", 1) + `parameters { key: "load_error" value { string_value: "no luck" } }`, "bad/1/": "",
	})
	for _, mode := range []Control{ControlExplicit, ControlPoll} {
		r, _, _ := open(t, func(o *Options) {
			o.Control = mode
			o.LoadThreads = 4
		}, dir)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		loop := func(step func(i int)) {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						step(i)
					}
				}
			})
		}
		var answered atomic.Int64
		for range 2 {
			loop(func(i int) {
				m, err := r.Model([]string{"a", "b", "bad"}[i%3], "")
				if err != nil {
					return
				}
				resp, err := inferOnce(t, m)
				m.Release()
				if err != nil {
					t.Errorf("infer: %v", err)
					return
				}
				resp.Release()
				answered.Add(1)
			})
		}
		loop(func(int) {
			r.Index(false)
			r.Ready()
			r.Served()
			_, _ = r.Statistics("", "")
		})
		rounds := make(chan struct{}, 100)
		config := `{"backend":"identity","input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[4]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[4]}]}`
		for _, name := range []string{"a", "b", "bad", "a"} {
			loop(func(i int) {
				var err error
				switch {
				case mode == ControlPoll && i%2 == 0:
					_ = os.WriteFile(filepath.Join(dir, "a/1/f"), fmt.Append(nil, i), 0o600)
					err = r.Poll(t.Context())
				case mode == ControlPoll:
					err = r.Poll(t.Context())
				case i%4 == 3:
					err = r.Unload(t.Context(), name, false)
				case i%4 == 2:
					err = r.Load(t.Context(), name, infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:1/f": []byte("x")}})
				default:
					err = r.Load(t.Context(), name, infer.LoadOptions{Config: &config})
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				select {
				case rounds <- struct{}{}:
				default:
				}
			})
		}
		for range cap(rounds) {
			<-rounds
		}
		require.Eventually(t, func() bool { return answered.Load() > 100 }, time.Minute, time.Millisecond)
		close(stop)
		wg.Wait()
		require.NoError(t, r.Drain(t.Context()))
		require.Empty(t, r.scratch.Dir())
	}
}
