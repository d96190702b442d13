package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const rules = `
groups:
  ops: ["key:root", "uid:0", "spiffe://example.org/ns/ops/*"]
rules:
  - who: ["group:ops"]
    allow: ["*"]
    models: ["*"]
  - who: ["key:team-a", "jwt-group:a"]
    allow: [infer, metadata]
    models: ["a-*", "b:2"]
  - who: ["authenticated"]
    allow: [statistics]
    models: ["a-*"]
  - who: ["anonymous"]
    allow: [metrics]
  - who: ["cert:loader"]
    allow: ["*"]
    models: ["a-1"]
`

// TestAllows is the table of who may do what under the rules above.
func TestAllows(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte(rules))
	require.NoError(t, err)
	anon, root := NewPrincipal(Anonymous), NewPrincipal("key:root")
	a, token := NewPrincipal("key:team-a"), NewPrincipal("jwt:x", "jwt-group:a")
	loader, web := NewPrincipal("cert:loader"), NewPrincipal("spiffe://example.org/ns/ops/web", "cert:x")
	for _, c := range []struct {
		who            *Principal
		do             Action
		model, version string
		want           bool
	}{
		{anon, ActionHealth, "", "", true},
		{anon, ActionReady, "a-1", "", false},
		{anon, ActionInfer, "a-1", "", false},
		{anon, ActionStatistics, "a-1", "", false},
		{anon, ActionMetrics, "", "", true},
		{root, ActionSettings, "", "", true},
		{root, ActionInfer, "anything", "9", true},
		{root, ActionNone, "", "", false},
		{web, ActionState, "", "", true},
		{a, ActionInfer, "a-1", "", true},
		{a, ActionInfer, "a-", "", true},
		{a, ActionInfer, "xa-1", "", false},
		{a, ActionInfer, "b", "2", true},
		{a, ActionInfer, "b", "", false}, // the server might choose another version
		{a, ActionInfer, "b", "1", false},
		{a, ActionInfer, "b", "22", false},
		{a, ActionInfer, "", "", true}, // with some model
		{a, ActionLoad, "a-1", "", false},
		{a, ActionLoad, "", "", false},
		{a, ActionMetrics, "", "", false},
		{a, ActionSharedMemory, "", "", false},
		{a, ActionStatistics, "a-1", "", true},
		{token, ActionInfer, "a-1", "", true},
		{loader, ActionLoad, "a-1", "", true},
		{loader, ActionLoad, "a-2", "", false},
		{loader, ActionSettings, "", "", false}, // all actions with one model are none with the server
		{loader, ActionSharedMemory, "", "", false},
		{loader, ActionTraffic, "", "", false},
	} {
		require.Equal(t, c.want, p.Allows(c.who, c.do, c.model, c.version), "%s %s %s:%s", c.who.Name, c.do, c.model, c.version)
	}
	require.True(t, p.AllowsAll(root, ActionIndex))
	require.False(t, p.AllowsAll(a, ActionInfer))
	// The rights that a principal remembers are those of the policy that is asked.
	none, err := Parse([]byte("open: []\nrules: []"))
	require.NoError(t, err)
	require.False(t, none.Allows(root, ActionInfer, "a-1", ""))
	require.False(t, none.Allows(anon, ActionHealth, "", ""))
	require.True(t, p.Allows(root, ActionInfer, "a-1", ""))
}

// TestNoProofSpeaksForAnother: what proves an identity cannot claim the name of another kind.
func TestNoProofSpeaksForAnother(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte(rules))
	require.NoError(t, err)
	for _, name := range []string{"jwt:key:root", "cert:uid:0", "dns:key:root", "jwt:group:ops", "cert:authenticated", "jwt:*", "uid:00", "jwt:spiffe://example.org/ns/ops/x"} {
		require.False(t, p.Allows(NewPrincipal(name), ActionLoad, "m", ""), name)
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the file is empty"},
		{"open: [health]", "line 1: there are no rules"},
		{"rules: x", "line 1: rules must be a list"},
		{"rules:\n- x", "line 2: a rule must be a mapping"},
		{"rules: []\nrule: []", `line 2: unknown key "rule"`},
		{"rules: []\nrules: []", `line 2: "rules" occurs twice`},
		{"rules:\n- who: [anonymous]", "line 2: a rule needs who and allow"},
		{"rules:\n- who: [bob]\n  allow: [metrics]", `line 2: unknown principal "bob"`},
		{"rules:\n- who: ['group:x']\n  allow: [metrics]", `line 2: unknown group "x"`},
		{"groups:\n  x: ['group:y']\nrules: []", `line 2: group "x" contains a group`},
		{"rules:\n- who: [anonymous]\n  allow: [inferr]\n  models: ['*']", `line 3: unknown action "inferr"`},
		{"rules:\n- who: [anonymous]\n  allow: [none]", `line 3: unknown action "none"`},
		{"rules:\n- who: [anonymous]\n  allow: [infer]", "line 2: the rule grants actions on models and names no models"},
		{"rules:\n- who: [anonymous]\n  allow: ['*']", "line 2: the rule grants actions on models and names no models"},
		{"rules:\n- who: [anonymous]\n  allow: [metrics]\n  models: [a]", "line 3: metrics concerns the whole server"},
		{"rules:\n- who: [anonymous]\n  allow: [infer]\n  model: [a]", `line 4: unknown key "model"`},
		{"rules:\n- who: [anonymous]\n  allow: [infer]\n  models: ['']", "line 4: models must have texts that are not empty"},
		{"open: [infer]\nrules: []", `line 1: "infer" cannot be open`},
		{"rules: [", "yaml"},
		{strings.Repeat("#", 1<<20+1), "may have"},
	} {
		_, err := Parse([]byte(c.text))
		require.ErrorContains(t, err, c.want, c.text)
	}
	_, err := Parse([]byte("rules:\n- who: [bob]\n  allow: [x]\n- who: [eve]\n  allow: [metrics]"))
	require.ErrorContains(t, err, "line 2")
	require.ErrorContains(t, err, "line 3")
	require.ErrorContains(t, err, "line 4")
}

// TestAliasBomb is a file whose references would expand to billions of entries.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		text += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ",") + "]\n"
	}
	_, err := Parse([]byte(text + "rules: *j\n"))
	require.Error(t, err)
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abbd", false},
		{"*a*b*", "xxaxxbxx", true},
		{"?", "", false},
		{"?b", "ab", true},
		{"a**", "a", true},
		{"[a]", "a", false},
		{"a.b", "axb", false},
	} {
		require.Equal(t, c.want, glob(c.pattern, c.text), "%q %q", c.pattern, c.text)
	}
	require.False(t, glob(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 5000))) // not exponential
}

func FuzzParse(f *testing.F) {
	f.Add(rules)
	f.Add("rules: []")
	f.Add("open: [metrics]\nrules:\n- {who: ['*'], allow: ['*'], models: ['*']}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		if err != nil {
			return
		}
		who := NewPrincipal("key:x")
		for _, a := range AllActions() {
			all, some := p.AllowsAll(who, a), p.Allows(who, a, "", "")
			if all && !some || p.Allows(who, a, "m", "1") && !some {
				t.Fatalf("%s: all %v, some %v", a, all, some)
			}
		}
		if p.Allows(who, ActionNone, "", "") {
			t.Fatal("somebody may do what is no action")
		}
	})
}

func BenchmarkAllows(b *testing.B) {
	p, err := Parse([]byte(rules))
	require.NoError(b, err)
	who := NewPrincipal("key:team-a")
	b.ReportAllocs()
	for b.Loop() {
		if !p.Allows(who, ActionInfer, "a-model", "") {
			b.Fatal()
		}
	}
}
