package fix_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/fix"
	"triton/repo/lint/linttest"
)

var cases = flag.Int("cases", 300, "number of random repositories that TestProperties corrects")

// changes are the fields of a configuration that the corrections of a rule may change. A rule that is
// not listed changes none: TRN004 is about comments.
var changes = map[string][]protoreflect.Name{
	"TRN102": {"name"},
	"TRN103": {"platform", "backend"},
	"TRN104": {"platform"},
	"TRN105": {"backend"},
	"TRN205": {"input", "output"},
	"TRN206": {"input", "output"},
	"TRN207": {"input", "output"},
	"TRN210": {"input", "output"},
	"TRN315": {"dynamic_batching"},
	"TRN404": {"instance_group"},
	"TRN410": {"instance_group"},
	"TRN602": {"input", "output", "sequence_batching"},
	"TRN603": {"input", "output", "sequence_batching"},
	"TRN604": {"input", "output", "sequence_batching"},
	"TRN712": {"ensemble_scheduling"},
	"TRN820": {"parameters"},
}

// TestProperties corrects random repositories with mistakes, half of them with misspelled words too:
// what could be read still can be, with no other fields changed than those that the corrections are
// about; what could not be read has fewer mistakes; comments stay; and nothing is left that a second
// run would correct.
func TestProperties(t *testing.T) {
	t.Parallel()
	g, err := linttest.New(t.Context(), false, false)
	require.NoError(t, err)
	corrected := map[string]int{}
	for seed := range uint64(*cases) {
		c := g.Case(seed)
		random := rand.New(rand.NewPCG(seed, 1))
		for _, name := range c.Files.Models() {
			if path := name + "/" + modelconfig.FileName; random.IntN(2) == 0 && c.Files[path] != "" {
				c.Files[path] = misspell(random, c.Files[path])
			}
		}
		dir := t.TempDir()
		require.NoError(t, c.Files.Write(dir))
		models, err := repo.Open(dir)
		if err != nil {
			continue // a mutation left no model
		}
		find := func(models []repo.Model) ([]repo.Finding, error) { return check(t, models), nil }
		texts, err := fix.All(models, find)
		require.NoError(t, err)
		for _, text := range texts {
			require.Empty(t, text.Conflicts, "%s\n%s", c, text.Before)
			for _, f := range text.Fixes {
				corrected[f[:len("TRN001")]]++
			}
			requireCorrected(t, text, c.String())
		}
		again, err := fix.All(models, find)
		require.NoError(t, err)
		require.Empty(t, again, "%s: a second run corrects more", c)
	}
	t.Logf("corrections by rule: %v", corrected)
	require.GreaterOrEqual(t, len(corrected), 5, "the cases have too few mistakes with a correction")
}

// requireCorrected requires that a text is corrected and otherwise as before.
func requireCorrected(t *testing.T, text *fix.Text, about string) {
	t.Helper()
	before, err := modelconfig.Parse("f", text.Before)
	after, errAfter := modelconfig.Parse("f", text.After)
	if err != nil {
		if errAfter != nil {
			require.NotEqual(t, err.Error(), errAfter.Error(), about)
		}
		return
	}
	require.NoError(t, errAfter, "%s\n%s\n%s", about, text.Before, text.After)
	allowed := map[protoreflect.Name]bool{}
	for _, f := range text.Fixes {
		for _, field := range changes[f[:len("TRN001")]] {
			allowed[field] = true
		}
	}
	a, b := before.ProtoReflect(), after.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		require.True(t, allowed[fd.Name()] || a.Get(fd).Equal(b.Get(fd)), "%s: %s changed by %s\n%s\n%s", about, fd.Name(), text.Fixes, text.Before, text.After)
	}
	if !slices.ContainsFunc(text.Fixes, func(f string) bool { return !strings.HasPrefix(f, "TRN004") }) {
		require.True(t, proto.Equal(before, after), about)
	}
}

// anyWord is the name of a field or value.
var anyWord = regexp.MustCompile(`[A-Za-z_]{4,}`)

// misspell leaves out a letter of some words.
func misspell(random *rand.Rand, text string) string {
	return anyWord.ReplaceAllStringFunc(text, func(word string) string {
		if random.IntN(6) > 0 {
			return word
		}
		n := random.IntN(len(word))
		return word[:n] + word[n+1:]
	})
}
