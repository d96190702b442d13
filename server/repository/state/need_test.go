package state

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store"
)

// TestNeed is the table of the package comment: of several reasons, the first one counts.
func TestNeed(t *testing.T) {
	t.Parallel()
	stamp := func(tag string) store.Stamp { return store.Stamp{"": {Tag: tag, Dir: true}} }
	before, clients := "before", "of a client"
	loaded := &Outcome{Location: "r/m", Stamp: stamp("1"), Override: &before}
	for name, test := range map[string]struct {
		found Finding
		want  Why
		with  *string
	}{
		"the first load":                 {Finding{Stamp: stamp("1"), Location: "r/m"}, Changed, nil},
		"the same":                       {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded}, Unchanged, nil},
		"other content":                  {Finding{Stamp: stamp("2"), Location: "r/m", Last: loaded}, Changed, nil},
		"another place":                  {Finding{Stamp: stamp("1"), Location: "s/m", Last: loaded}, Changed, nil},
		"a store without stamps":         {Finding{Location: "r/m", Last: &Outcome{Location: "r/m"}}, Changed, nil},
		"broken":                         {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, Broken: true}, Broken, &before},
		"broken and changed":             {Finding{Stamp: stamp("2"), Location: "r/m", Last: loaded, Broken: true}, Changed, nil},
		"other steps":                    {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, Reconnected: true}, Reconnected, &before},
		"a client's":                     {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, Override: &clients}, Requested, &clients},
		"a client's, broken":             {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, Override: &clients, Broken: true}, Requested, &clients},
		"again":                          {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, Again: true}, Requested, nil},
		"changing":                       {Finding{Stamp: stamp("2"), Location: "r/m", Last: loaded, Unsettled: true, Broken: true}, Unsettled, nil},
		"unloaded meanwhile":             {Finding{Stamp: stamp("2"), Location: "r/m", Last: loaded, Unloaded: true}, Unloaded, nil},
		"tried, never loaded":            {Finding{Stamp: stamp("1"), Location: "r/m", SeenBefore: true}, Tried, nil},
		"tried, failed":                  {Finding{Stamp: stamp("2"), Location: "r/m", Last: loaded, SeenBefore: true}, Tried, nil},
		"tried, broken":                  {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, SeenBefore: true, Broken: true}, Tried, nil},
		"tried, serves":                  {Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, SeenBefore: true}, Unchanged, nil},
		"tried, serves from other place": {Finding{Stamp: stamp("1"), Location: "s/m", Last: loaded, SeenBefore: true}, Changed, nil},
		"tried, serves, with other steps": {
			Finding{Stamp: stamp("1"), Location: "r/m", Last: loaded, SeenBefore: true, Reconnected: true}, Reconnected, &before,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need := test.found.Need()
			require.Equal(t, Need{test.want, test.with}, need)
			require.Equal(t, test.want >= Requested, need.Load())
		})
	}
}
