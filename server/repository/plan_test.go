package repository

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/store"
)

// TestPlan decides about models without any store, engine or version.
//
//	plan
//	NAME [store=STAMP] [have=STAMP] [broken] [twice] [named] [override] [before] [unreadable] [steps=NAME,...]
//	gone NAME
//
// A line is a wanted model: the stamp of the store and of the last load, whether that
// had an override before, and whether a client asks for one now.
func TestPlan(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "plan", d.Cmd)
			w := wanted{}
			var found []finding
			var gone []store.ID
			for line := range strings.SplitSeq(d.Input, "\n") {
				if name, ok := strings.CutPrefix(line, "gone "); ok {
					gone = append(gone, store.ID{Name: name})
					continue
				}
				f := parseFinding(t, line)
				if f.content != nil {
					w.want(f.id, byPoll, f.content)
				}
				found = append(found, f)
			}
			var out strings.Builder
			for _, a := range plan(w, found, gone) {
				switch a.do {
				case report:
					fmt.Fprintln(&out, "report", a.text)
				case withdraw:
					fmt.Fprintln(&out, "withdraw", a.id)
				case load:
					fmt.Fprint(&out, "load ", a.id)
					if a.content.Override != nil {
						fmt.Fprint(&out, " with the configuration ", *a.content.Override)
					}
					if len(a.after) > 0 {
						fmt.Fprint(&out, " after ", a.after)
					}
					fmt.Fprintln(&out)
				}
			}
			return out.String()
		})
	})
}

func parseFinding(t *testing.T, line string) finding {
	words := strings.Fields(line)
	f := finding{id: store.ID{Name: words[0]}, location: words[0]}
	var parts []store.ID
	before, unreadable := false, false
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "store":
			f.listed, f.stamp = true, stampOf(value)
		case "have":
			f.have = &outcome{location: words[0], stamp: stampOf(value)}
		case "moved":
			f.location = "elsewhere"
		case "broken":
			f.broken = true
		case "twice":
			f.listed, f.ambiguous = true, true
		case "named":
			f.named = true
		case "override":
			text := "of the client"
			f.override = &text
		case "before":
			before = true
		case "unreadable":
			unreadable = true
		case "steps":
			for name := range strings.SplitSeq(value, ",") {
				parts = append(parts, store.ID{Name: name})
			}
		default:
			t.Fatalf("unknown word %s", word)
		}
	}
	if before {
		text := "from before"
		f.have.override = &text
	}
	override, due := f.due()
	switch {
	case !f.listed || f.ambiguous || !due:
	case unreadable:
		f.err = errors.New("no luck")
	default:
		f.content = &layout.Content{
			From: store.Model{ID: f.id}, Override: override, Parts: parts,
			Config: modelconfig.New("", &inferencepb.ModelConfig{}),
		}
	}
	return f
}

// stampOf is a stamp with one entry; nil for "none".
func stampOf(text string) store.Stamp {
	if text == "none" {
		return nil
	}
	return store.Stamp{"": {Tag: text, Dir: true}}
}

// TestChanges decides about the versions of a model.
func TestChanges(t *testing.T) {
	t.Parallel()
	stamp := func(files ...string) store.Stamp {
		s := store.Stamp{"": {Tag: strings.Join(files, ""), Dir: true}}
		for _, f := range files {
			name, tag, _ := strings.Cut(f, "=")
			s[name] = store.Entry{Tag: tag, Dir: isVersion(name)}
		}
		return s
	}
	plain := `backend: "b"`
	base := stamp("config.pbtxt=1", "1=1", "2=1", "labels=1")
	for name, test := range map[string]struct {
		config  string
		stamp   store.Stamp
		ready   []string // versions; "!" is broken, "@" from elsewhere
		want    string
		policy  []int64
		oldConf string
	}{
		"first load":                   {config: plain, stamp: base, policy: []int64{1, 2}, want: "1:load 2:load"},
		"nothing was changed":          {config: plain, stamp: base, policy: []int64{1, 2}, ready: []string{"1", "2"}, want: "1:keep 2:keep"},
		"a new version":                {config: plain, stamp: base, policy: []int64{2}, ready: []string{"1"}, want: "2:load 1:retire"},
		"one more version":             {config: plain, stamp: base, policy: []int64{1, 2}, ready: []string{"1"}, want: "1:keep 2:load"},
		"one version was changed":      {config: plain, stamp: stamp("config.pbtxt=1", "1=1", "2=9", "labels=1"), policy: []int64{1, 2}, ready: []string{"1", "2"}, want: "1:keep 2:load"},
		"a file beside was changed":    {config: plain, stamp: stamp("config.pbtxt=1", "1=1", "2=1", "labels=9"), policy: []int64{1, 2}, ready: []string{"1", "2"}, want: "1:load 2:load"},
		"the configuration's file was": {config: plain, stamp: stamp("config.pbtxt=9", "1=1", "2=1", "labels=1"), policy: []int64{1}, ready: []string{"1"}, want: "1:keep"},
		"other text in it":             {config: plain + " max_batch_size: 4", stamp: base, policy: []int64{1}, ready: []string{"1"}, want: "1:load"},
		"other instances":              {config: plain + " instance_group { count: 3 }", stamp: base, policy: []int64{1}, ready: []string{"1"}, want: "1:regroup"},
		"other policy":                 {config: plain + " version_policy { all { } }", stamp: base, policy: []int64{1}, ready: []string{"1"}, want: "1:regroup"},
		"broken":                       {config: plain, stamp: base, policy: []int64{1, 2}, ready: []string{"1!", "2"}, want: "1:load 2:keep"},
		"broken, other instances":      {config: plain + " instance_group { count: 3 }", stamp: base, policy: []int64{1}, ready: []string{"1!"}, want: "1:load"},
		"from elsewhere":               {config: plain, stamp: base, policy: []int64{1}, ready: []string{"1@"}, want: "1:load"},
		"came with a load":             {config: plain, stamp: nil, policy: []int64{1}, ready: []string{"1"}, want: "1:load"},
		"an ensemble":                  {config: `platform: "ensemble" ensemble_scheduling { }`, oldConf: "same", stamp: base, policy: []int64{1}, ready: []string{"1"}, want: "1:load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parse := func(text string) *modelconfig.Config {
				c, err := modelconfig.Parse("", []byte(text))
				require.NoError(t, err)
				return c
			}
			c := &layout.Content{From: store.Model{Location: "r/m"}, Stamp: test.stamp, ConfigEntry: "config.pbtxt", Config: parse(test.config)}
			for _, n := range test.policy {
				c.Versions = append(c.Versions, layout.Version{Number: n, Name: fmt.Sprint(n)})
			}
			old := parse(plain)
			if test.oldConf == "same" {
				old = parse(test.config)
			}
			var ready []serving
			for _, text := range test.ready {
				var n int64
				_, err := fmt.Sscan(strings.TrimRight(text, "!@"), &n)
				require.NoError(t, err)
				v := serving{number: n, broken: strings.Contains(text, "!"), from: &model.Provenance{
					Origin: fmt.Sprintf("r/m/%d", n), Config: old.ModelConfig, Stamp: base,
				}}
				if strings.Contains(text, "@") {
					v.from.Origin = "scratch/1"
				}
				ready = append(ready, v)
			}
			var got []string
			for _, s := range steps(c, ready) {
				got = append(got, fmt.Sprintf("%d:%s", s.Number, []string{"load", "regroup", "keep", "retire"}[s.do]))
			}
			require.Equal(t, test.want, strings.Join(got, " "))
		})
	}
}

func isVersion(name string) bool { return slices.Contains([]string{"1", "2"}, name) }
