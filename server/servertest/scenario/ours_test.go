package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/cache"
	"triton/server/model"
	"triton/server/repository"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOurs runs every script on this server in virtual time. With -record it writes the records of
// the scenarios that have a reason for a difference.
func TestOurs(t *testing.T) {
	all, err := Suites()
	require.NoError(t, err)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			changed := false
			for _, c := range s.Scenarios {
				t.Run(c.Name, func(t *testing.T) {
					if len(c.NVIDIA) == 0 {
						t.Fatal("NVIDIA's server has not played it")
					}
					got := ours(t, s, c)
					switch {
					case *record && len(c.Reasons) > 0:
						changed = changed || !slices.Equal(c.Ours, got)
						c.Ours = got
					case strings.Join(got, "\n") != strings.Join(c.Want(), "\n"):
						t.Errorf("%s.txt:%d: %s\n--- expected\n%s\n--- got\n%s", s.Name, c.Line, c.Name, strings.Join(c.Want(), "\n"), strings.Join(got, "\n"))
					}
				})
			}
			if changed {
				rewrite(t, s)
			}
		})
	}
}

// ours returns this server's record of a script.
func ours(t *testing.T, s *Suite, c *Scenario) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { lines = playOurs(t, s, c) })
	return lines
}

// playOurs plays one script in a bubble.
func playOurs(t *testing.T, s *Suite, c *Scenario) []string {
	t.Helper()
	recording := &recorder{}
	pool := tensor.NewPool()
	o := options(t, s, c, recording, pool)
	r := repository.New(o)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, r.Drain(ctx))
		if o.Cache != nil {
			require.NoError(t, o.Cache.Close())
		}
		if left := pool.Outstanding(); left != 0 {
			t.Errorf("%d buffers are outstanding", left)
		}
	}()
	if err := r.Start(t.Context()); err != nil {
		require.ErrorIs(t, err, repository.ErrLoad)
	}
	p := &player{Scenario: c, waitArrived: synctest.Wait, call: func(ctx context.Context, e *Event, m *Model, reply func(string)) {
		(&visit{repository: r, pool: pool, reply: reply}).call(ctx, e, m)
	}}
	recording.begin = time.Now()
	p.play(t.Context(), t)
	time.Sleep(100 * time.Millisecond)
	rec := Record{Replies: p.replies, Runs: recording.runs}
	for i := range rec.Runs {
		rec.Runs[i].Unordered = c.model(rec.Runs[i].Model).Instances() > 1
	}
	for i := range c.Models {
		m := &c.Models[i]
		if why := NotLoaded(r.Index(false), m.Name); why != "" {
			rec.Stats = append(rec.Stats, fmt.Sprintf("load %s %s", m.Name, why))
			continue
		}
		rec.Stats = append(rec.Stats, counted(t, r, m))
	}
	return rec.Lines()
}

func options(t *testing.T, s *Suite, c *Scenario, recording *recorder, pool *tensor.Pool) repository.Options {
	t.Helper()
	dir := t.TempDir()
	for _, m := range c.Models {
		require.NoError(t, m.Write(dir, "", "recorder", ""))
	}
	o := repository.Options{
		Options: model.Options{
			Backends: backend.Set{"recorder": recording}, CPUs: 1, Pool: pool, Log: slog.New(slog.DiscardHandler), NewAlarm: scheduler.NewAlarm,
		},
		Paths: []string{dir}, LoadThreads: 1, StrictReadiness: true, ID: "triton", Version: "1",
	}
	var resources []scheduler.Resource
	for flag := range strings.FieldsSeq(s.Needs["flags"]) {
		switch name, value, _ := strings.Cut(flag, "="); name {
		case "--cache-config":
			o.Cache = cache.NewLocal(1<<20, pool)
		case "--rate-limit":
			o.Limiter = scheduler.NewRateLimiter(nil)
		case "--rate-limit-resource":
			key, count, _ := strings.Cut(value, ":")
			n, err := strconv.ParseUint(count, 10, 64)
			require.NoError(t, err)
			resources = append(resources, scheduler.Resource{Name: key, Count: n, Device: scheduler.AllDevices})
			o.Limiter = scheduler.NewRateLimiter(resources)
		default:
			t.Errorf("%s.txt: flag %s is not known", s.Name, flag)
		}
	}
	return o
}

func counted(t *testing.T, r *repository.Repository, m *Model) string {
	t.Helper()
	got, err := r.Statistics(m.Name, "1")
	require.NoError(t, err)
	reasons := map[string]uint64{}
	for _, s := range r.Served() {
		if s.Name() == m.Name {
			for _, why := range stats.Failures() {
				reasons[why.String()] = s.Counters().Failures[why]
			}
		}
	}
	return FormatStats(m, got.GetModelStats()[0], reasons)
}
