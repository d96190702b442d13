package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
)

// `make scenarios` plays all scripts on NVIDIA's server and wants what is
// recorded. Records are made one after the other:
//
//	go test ./server/servertest/scenario -run TestNVIDIA -record [-missing]   NVIDIA's, with TRITON_ORACLE set
//	go test ./server/servertest/scenario -run TestOurs -record                ours, where there is a reason
var (
	record  = flag.Bool("record", false, "write what NVIDIA's server does, or ours where there is a reason, into the files")
	missing = flag.Bool("missing", false, "only scenarios without a record")
	rounds  = flag.Int("rounds", 4, "how often a scenario is played at most, each time by a new server")
)

// atOnce bounds how many scenarios play at the same time: mostly they wait.
const atOnce = 3

// TestNVIDIA runs scenarios again whose record differs: the machine may be slow, and the threads of
// NVIDIA's server do not always wake up when an instance becomes free.
func TestNVIDIA(t *testing.T) {
	dir := os.Getenv("TRITON_ORACLE")
	if dir == "" {
		t.Skip("TRITON_ORACLE is not set: run `make scenarios`")
	}
	all, err := Suites()
	require.NoError(t, err)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			chosen := slices.DeleteFunc(slices.Clone(s.Scenarios), func(c *Scenario) bool { return *missing && len(c.NVIDIA) > 0 })
			left := slices.Clone(chosen)
			runs := map[*Scenario][][]string{}
			for n := 0; n < *rounds && len(left) > 0; n++ {
				t.Run(fmt.Sprintf("round %d", n+1), func(t *testing.T) { round(t, dir, s, left, runs) })
				left = slices.DeleteFunc(left, func(c *Scenario) bool { return isRecorded(t, s, c, runs[c]) })
			}
			if *record {
				left = slices.DeleteFunc(chosen, func(c *Scenario) bool {
					lines := agreed(runs[c], ours(t, s, c))
					if lines != nil {
						c.NVIDIA = lines
					}
					return lines != nil
				})
				rewrite(t, s)
			}
			for _, c := range left {
				t.Errorf("%s\n--- recorded\n%s", c.Name, strings.Join(c.NVIDIA, "\n"))
				for _, lines := range runs[c] {
					t.Logf("--- got\n%s", strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// round plays scenarios once.
func round(t *testing.T, dir string, s *Suite, todo []*Scenario, runs map[*Scenario][][]string) {
	o := startOracle(t, dir, s, todo)
	var mu sync.Mutex
	t.Run("play", func(t *testing.T) {
		places := make(chan struct{}, atOnce)
		for i, c := range todo {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				places <- struct{}{}
				defer func() { <-places }()
				lines := o.play(t, c, prefix(i))
				mu.Lock()
				defer mu.Unlock()
				runs[c] = append(runs[c], lines)
			})
		}
	})
}

// isRecorded reports whether a scenario need not be run again.
func isRecorded(t *testing.T, s *Suite, c *Scenario, runs [][]string) bool {
	t.Helper()
	want := c.NVIDIA
	if *record {
		want = ours(t, s, c)
	}
	return slices.ContainsFunc(runs, func(l []string) bool { return near(l, want) })
}

// prefix keeps the models of the scenarios of one server apart.
func prefix(i int) string { return fmt.Sprintf("s%d_", i) }

// rewrite puts a suite back into its file.
func rewrite(t *testing.T, s *Suite) {
	t.Helper()
	file := filepath.Join("testdata", s.Name+".txt")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(Format(s, Head(string(text)))), 0o644))
}

// nvidia is a running server of NVIDIA's.
type nvidia struct {
	client  inferencepb.GRPCInferenceServiceClient
	metrics string
	log     string // what the models note
}

func (o *nvidia) play(t *testing.T, c *Scenario, prefix string) []string {
	t.Helper()
	p := &player{Scenario: c, waitArrived: func() {}, call: func(ctx context.Context, e *Event, m *Model, reply func(string)) {
		r := message(e, m, prefix)
		told := func(text string) { reply(plain(text, prefix)) }
		if m.Streams() {
			o.stream(ctx, r, told)
		} else {
			o.unary(ctx, r, told)
		}
	}}
	_, err := o.client.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{}) // there is a connection
	require.NoError(t, err)
	p.play(t.Context(), t)
	time.Sleep(150 * time.Millisecond) // the statistics follow the answers
	rec := Record{Replies: p.replies, Runs: o.runs(t, c, prefix, p.begin)}
	index, err := o.client.RepositoryIndex(t.Context(), &inferencepb.RepositoryIndexRequest{})
	require.NoError(t, err)
	for i := range c.Models {
		m := &c.Models[i]
		if why := NotLoaded(index, prefix+m.Name); why != "" {
			rec.Stats = append(rec.Stats, fmt.Sprintf("load %s %s", m.Name, plain(why, prefix)))
			continue
		}
		rec.Stats = append(rec.Stats, o.stats(t, m, prefix))
	}
	return rec.Lines()
}

var stack = regexp.MustCompile(`(?s)Failed to process the request\(s\) for model '[^']*', message: \w+: (.*?)\n\nAt:.*`)

// plain returns a text without the parts that the harness adds.
func plain(text, prefix string) string {
	return stack.ReplaceAllString(strings.ReplaceAll(text, prefix, ""), "$1")
}

func (o *nvidia) runs(t *testing.T, c *Scenario, prefix string, begin time.Time) []Run {
	t.Helper()
	text, err := os.ReadFile(o.log)
	require.NoError(t, err)
	var all []Run
	for line := range bytes.Lines(text) {
		var note struct {
			At      int64
			Model   string
			Members []string
		}
		require.NoError(t, json.Unmarshal(line, &note))
		name, mine := strings.CutPrefix(note.Model, prefix)
		if !mine {
			continue
		}
		all = append(all, Run{At: time.Duration(note.At - begin.UnixNano()), Model: name, Members: note.Members, Unordered: c.model(name).Instances() > 1})
	}
	return all
}

func (o *nvidia) stats(t *testing.T, m *Model, prefix string) string {
	t.Helper()
	got, err := o.client.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: prefix + m.Name, Version: "1"})
	require.NoError(t, err)
	return FormatStats(m, got.GetModelStats()[0], o.failures(t, prefix+m.Name))
}

var failure = regexp.MustCompile(`(?m)^nv_inference_request_failure\{model="([^"]*)",reason="([^"]*)",version="1"\} (\d+)$`)

func (o *nvidia) failures(t *testing.T, model string) map[string]uint64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+o.metrics+"/metrics", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	all := map[string]uint64{}
	for _, f := range failure.FindAllStringSubmatch(string(text), -1) {
		if f[1] == model {
			all[f[2]], err = strconv.ParseUint(f[3], 10, 64)
			require.NoError(t, err)
		}
	}
	return all
}
