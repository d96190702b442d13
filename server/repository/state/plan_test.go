package state

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
	"triton/server/repository/layout"
	"triton/server/store"
)

// TestPlanModels decides about models without any store, backend or version.
//
//	plan
//	NAME [store=STAMP] [have=STAMP] [broken] [twice] [named] [override] [before] [unreadable] [steps=NAME,...]
//	removed NAME
//
// A line is a desired model: the stamp of the store and of the last load, whether that load had
// an override, and whether a client requests one now.
func TestPlanModels(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "plan", d.Cmd)
			desired := NewDesired()
			var found []Finding
			var removed []store.ID
			for line := range strings.SplitSeq(d.Input, "\n") {
				if name, ok := strings.CutPrefix(line, "removed "); ok {
					removed = append(removed, store.ID{Name: name})
					continue
				}
				f := parseFinding(t, line)
				if f.Content != nil {
					desired.Add(f.ID, ByPoll, f.Content)
				}
				found = append(found, f)
			}
			var out strings.Builder
			for _, a := range PlanModels(desired, found, removed) {
				switch a.Do {
				case VerbReport:
					fmt.Fprintln(&out, "report", a.Text)
				case VerbRemove:
					fmt.Fprintln(&out, "withdraw", a.ID)
				case VerbLoad:
					fmt.Fprint(&out, "load ", a.ID)
					if a.Content.Override != nil {
						fmt.Fprint(&out, " with the configuration ", *a.Content.Override)
					}
					if len(a.After) > 0 {
						fmt.Fprint(&out, " after ", a.After)
					}
					fmt.Fprintln(&out)
				}
			}
			return out.String()
		})
	})
}

func parseFinding(t *testing.T, line string) Finding {
	words := strings.Fields(line)
	f := Finding{ID: store.ID{Name: words[0]}, Location: words[0]}
	var parts []store.ID
	before, unreadable := false, false
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "store":
			f.Listed, f.Stamp = true, stampOf(value)
		case "have":
			f.Last = &Outcome{Location: words[0], Stamp: stampOf(value)}
		case "moved":
			f.Location = "elsewhere"
		case "broken":
			f.Broken = true
		case "twice":
			f.Listed, f.Ambiguous = true, true
		case "named":
			f.Named = true
		case "override":
			text := "of the client"
			f.Override = &text
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
		f.Last.Override = &text
	}
	need := f.Need()
	switch {
	case !f.Listed || f.Ambiguous || !need.Load():
	case unreadable:
		f.Err = errors.New("no luck")
	default:
		f.Content = &layout.Content{
			From: store.Model{ID: f.ID}, Override: need.Override, ComposingModels: parts,
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

// TestPlanVersions decides about the versions of a model.
func TestPlanVersions(t *testing.T) {
	t.Parallel()
	stamp := func(files ...string) store.Stamp {
		s := store.Stamp{"": {Tag: strings.Join(files, ""), Dir: true}}
		for _, f := range files {
			name, tag, _ := strings.Cut(f, "=")
			s[name] = store.Entry{Tag: tag, Dir: isTestVersion(name)}
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
			var ready []ReadyVersion
			for _, text := range test.ready {
				var n int64
				_, err := fmt.Sscan(strings.TrimRight(text, "!@"), &n)
				require.NoError(t, err)
				v := ReadyVersion{
					Number: n, Broken: strings.Contains(text, "!"),
					Origin: fmt.Sprintf("r/m/%d", n), Config: old.ModelConfig, Stamp: base,
				}
				if strings.Contains(text, "@") {
					v.Origin = "scratch/1"
				}
				ready = append(ready, v)
			}
			var got []string
			for _, s := range PlanVersions(c, ready) {
				got = append(got, fmt.Sprintf("%d:%s", s.Number, verbs[s.Do]))
			}
			require.Equal(t, test.want, strings.Join(got, " "))
		})
	}
}

var verbs = map[Verb]string{VerbLoad: "load", VerbReplaceInstances: "regroup", VerbKeep: "keep", VerbRetire: "retire"}

func isTestVersion(name string) bool { return slices.Contains([]string{"1", "2"}, name) }
