package perf_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/data"
)

// fixedSchedule runs the entries of testdata/schedule.json. The first number of each is its
// index.
func fixedSchedule(c *perf.Config) {
	c.Mode = perf.FixedSchedule
	c.Data = data.Options{Source: data.Files, Paths: []string{filepath.Join("testdata", "schedule.json")}}
}

func TestFixedScheduleSendsEachEntryAtItsTime(t *testing.T) {
	for _, warm := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(1700 * time.Microsecond)
			rep, _, err := measure(t, f, func(c *perf.Config) {
				fixedSchedule(c)
				c.WarmupCount, c.Profile = warm, true
			})
			require.NoError(t, err)
			require.EqualValues(t, 5, f.started.Load(), "each entry once")
			require.Equal(t, 5-warm, rep.Settings.RequestCount)
			require.Len(t, rep.Levels, 1)
			l := rep.Levels[0]
			require.Equal(t, perf.Load{Mode: perf.FixedSchedule, Value: 1}, l.Load)
			require.Equal(t, 5-warm, l.Requests)
			require.Equal(t, 0, l.Schedule.Delayed)
			times := []time.Duration{0, 100, 100, 250, 4000}[warm:]
			require.Equal(t, (4000-times[0])*time.Millisecond+1700*time.Microsecond, l.Duration, "from the first start to the last end")
			requests := slices.DeleteFunc(l.Profile.Requests, func(r perf.RequestRecord) bool {
				return r.Start < l.Profile.Windows[0] // the last one of the warm-up ends in this very nanosecond
			})
			require.Len(t, requests, 5-warm)
			for i, r := range requests {
				require.Equal(t, times[i]*time.Millisecond, time.Duration(r.Start-l.Profile.Windows[0]), "from the start of the level, also after a warm-up")
			}
			entries := map[byte]bool{}
			for _, r := range requests { // those of one time are in any order
				b, ok := r.Inputs[0].Data.Contiguous()
				require.True(t, ok)
				entries[b[0]] = true
			}
			for i := range 5 {
				require.Equal(t, i >= warm, entries[byte(i)], "entry %d", i)
			}
		})
	}
}

func TestFixedScheduleWaitsForNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, _, err := measure(t, newFake(10*time.Second), fixedSchedule)
		require.NoError(t, err)
		require.Equal(t, 14*time.Second, rep.Levels[0].Duration)
		require.Equal(t, 0, rep.Levels[0].Schedule.Delayed)

		rep, _, err = measure(t, newFake(10*time.Second), func(c *perf.Config) {
			fixedSchedule(c)
			c.MaxInFlight = 1
		})
		require.NoError(t, err)
		require.Equal(t, 50*time.Second, rep.Levels[0].Duration)
		require.Equal(t, 4, rep.Levels[0].Schedule.Delayed, "sent late rather than left out")
	})
}

func TestFixedScheduleRefusals(t *testing.T) {
	for want, change := range map[string]func(*perf.Config){
		"The warmup request count must be less than the total number of payloads in the dataset.": func(c *perf.Config) { c.WarmupCount = 5 },
		"When using `--fixed-schedule`, you must provide a dataset using `--input-data`.":         func(c *perf.Config) { c.Data = data.DefaultOptions() },
		"the data of a fixed schedule decides the number of requests":                             func(c *perf.Config) { c.RequestCount = 5 },
		"each with one step": func(c *perf.Config) { c.Batches = []int{1, 2} },
		"can not use a fixed schedule with the sequence model sequence": func(c *perf.Config) { c.Model = "sequence" },
	} {
		_, _, err := measure(t, newFake(time.Millisecond, config("simple"), sequence("sequence")), func(c *perf.Config) {
			fixedSchedule(c)
			change(c)
		})
		require.ErrorContains(t, err, want)
	}
}
