package chaos

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPlan: a seed gives one plan, whose beginning does not depend on its duration, and long
// plans have every kind that suits the mode.
func TestPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []Control{Explicit, Poll, Auto} {
		long, short := NewPlan(7, c, 10*time.Minute), NewPlan(7, c, time.Minute)
		require.Equal(t, long.Events[:len(short.Events)], short.Events)
		require.NotEqual(t, short.Events, NewPlan(8, c, time.Minute).Events)
		seen := map[string]bool{}
		for _, e := range long.Events {
			seen[e.Kind] = true
			for _, m := range Models() {
				require.False(t, m.Name == e.Model && m.Still, e)
			}
		}
		only := map[string]Control{"unload": Explicit, "race": Explicit, "override": Explicit, "folder": Poll, "idle": Auto}
		always := []string{"same", "cancel", "slow reader", "log settings", "trace settings"}
		for _, k := range kinds {
			other := only[k.name] != "" && only[k.name] != c || c == Auto && k.name != "idle" && !slices.Contains(always, k.name)
			require.Equal(t, !other, seen[k.name], "%s in mode %s", k.name, c)
		}
	}
}

// TestJournal: the journal of a run is a plan with the times at which the episodes began.
func TestJournal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "journal")
	plan := NewPlan(3, Poll, 10*time.Second)
	j, err := openJournal(file, plan)
	require.NoError(t, err)
	for i := len(plan.Events) - 1; i >= 0; i-- { // they end in any order
		plan.Events[i].At += time.Millisecond
		j.write(happened{Event: plan.Events[i], Begun: plan.Events[i].At, Took: time.Second, Error: "x"})
	}
	j.write((&Report{Plan: plan}).summary())
	j.close()
	got, err := ReadPlan(file)
	require.NoError(t, err)
	require.Equal(t, plan, got)
}

// TestOracle: what may answer before, during and after an update and an unload.
func TestOracle(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	o := newOracle()
	x := &subject{Model: Model{Name: "m", kind: "onnx", policy: "version_policy { all { } }\n"}, current: map[int]int64{1: 11, 2: 12}}
	o.serves(x, at(0))
	x.current[2] = 22
	o.may(x, at(10))
	o.serves(x, at(20))
	o.fails(x, 0, at(30))
	o.gone(x, at(40))
	o.may(x, at(50))
	o.serves(x, at(60))
	o.works(x, 0, at(60))

	failed := errors.New("no")
	for _, c := range []struct {
		want string
		answer
	}{
		{"", answer{version: 2, edition: 12, sent: at(1), received: at(2)}},
		{"", answer{asked: 1, version: 1, edition: 11, sent: at(1), received: at(2)}},
		{"not the newest", answer{version: 1, edition: 11, sent: at(1), received: at(2)}},
		{"version 2 answered for version 1", answer{asked: 1, version: 2, edition: 12, sent: at(1), received: at(2)}},
		{"which is version 1", answer{version: 2, edition: 11, sent: at(1), received: at(2)}},
		{"never had", answer{version: 2, edition: 99, sent: at(1), received: at(2)}},
		{"could not serve then", answer{version: 2, edition: 22, sent: at(1), received: at(2)}},
		{"", answer{version: 2, edition: 12, sent: at(11), received: at(12)}},
		{"", answer{version: 2, edition: 22, sent: at(11), received: at(12)}},
		{"", answer{version: 2, edition: 12, sent: at(19), received: at(25)}}, // was running when the new one came
		{"could not serve then", answer{version: 2, edition: 12, sent: at(21), received: at(25)}},
		{"failed while the model had to serve: no", answer{err: failed, sent: at(15), received: at(16)}},
		{"failed", answer{err: failed, goesOn: true, sent: at(15), received: at(16)}},
		{"failed while the model had to serve: no", answer{err: failed, goesOn: true, sent: at(5), received: at(6)}},
		{"failed", answer{err: failed, sent: at(29), received: at(31)}},
		{"", answer{version: 2, edition: 22, sent: at(31), received: at(32)}},
		{"not the newest", answer{version: 2, edition: 22, sent: at(42), received: at(43)}},
		{"could not serve then", answer{asked: 2, version: 2, edition: 22, sent: at(42), received: at(43)}},
		{"failed", answer{err: failed, sent: at(42), received: at(43)}},
		{"failed while the model had to serve: no", answer{err: failed, sent: at(61), received: at(62)}},
	} {
		c.model = "m"
		got := o.judge(c.answer)
		if c.want == "" || c.want == "failed" {
			require.Equal(t, c.want, got, c.answer)
		} else {
			require.Contains(t, got, c.want, c.answer)
		}
	}
}

// TestVerdict: a slower model counts against the server on a quiet machine only.
func TestVerdict(t *testing.T) {
	t.Parallel()
	quiet, busy := Baseline{Busy: 0.02, Wake: time.Millisecond}, Baseline{Busy: 0.8, Wake: 9 * time.Millisecond}
	slow := []Latency{{"a", 100, 110}, {"b", 100, 190}}
	for _, c := range []struct {
		idle [2]Baseline
		all  []Latency
		want string
	}{
		{[2]Baseline{quiet, quiet}, slow[:1], "within 1.2 times"},
		{[2]Baseline{busy, quiet}, slow[:1], "within 1.2 times"},
		{[2]Baseline{quiet, quiet}, slow, "NOT within 1.2 times: b is 1.90 times slower"},
		{[2]Baseline{quiet, busy}, slow, "none: b is 1.90 times slower, but the machine was busy"},
	} {
		r := &Report{Latencies: c.all, Idle: c.idle}
		require.Contains(t, r.Verdict(), c.want)
	}
}

// TestDepot: the archive is the same for the same content, and the depot behaves as told.
func TestDepot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, Prepare(root))
	d, err := OpenDepot(root)
	require.NoError(t, err)
	defer d.Close()
	ask := func() (*http.Response, error) {
		resp, err := http.Get(d.URL)
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	first, err := ask()
	require.NoError(t, err)
	again, err := ask()
	require.NoError(t, err)
	require.Equal(t, first.Header.Get("ETag"), again.Header.Get("ETag"))
	require.NoError(t, os.WriteFile(filepath.Join(root, "remote", "remote", "1", "model.onnx"), []byte("x"), 0o600))
	changed, err := ask()
	require.NoError(t, err)
	require.NotEqual(t, first.Header.Get("ETag"), changed.Header.Get("ETag"))
	d.behave(0, true)
	_, err = ask()
	require.Error(t, err)
}

// TestHolds: a version that the policy takes out of service for a new one may refuse requests until it
// serves again; those that the policy keeps may not.
func TestHolds(t *testing.T) {
	t.Parallel()
	models := Models()
	latest := models[slices.IndexFunc(models, func(m Model) bool { return m.Name == "versions_latest" })]
	x := &subject{Model: latest, current: map[int]int64{1: 11, 2: 12}}
	e := &episode{world: &world{oracle: newOracle()}, x: x}
	e.oracle.serves(x, time.Now())
	refused := func(version int) string {
		now := time.Now()
		return e.oracle.judge(answer{model: x.Name, asked: version, sent: now, received: now, err: errors.New("no")})
	}
	const lost = "failed while the model had to serve: no"
	require.Equal(t, lost, refused(1))
	retired := e.holds(3, 13)
	require.Equal(t, []int{1}, retired)
	require.Equal(t, "failed", refused(1))
	require.Equal(t, lost, refused(2))
	require.Empty(t, e.holds(3, 14), "other content of a version takes none out of service")
	e.work(retired)
	for time.Now().Equal(e.oracle.of(x.Name).absent[1][0].to) { // the end of the span counts as in it
		time.Sleep(time.Microsecond)
	}
	require.Equal(t, lost, refused(1))
}
