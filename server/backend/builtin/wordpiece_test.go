package builtin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var pieces = strings.Join([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "go", "##od", "##ing", "!", "über", "##s"}, "\n") + "\n"

func TestWordPieces(t *testing.T) {
	t.Parallel()
	v := readVocabulary([]byte(pieces))
	for text, want := range map[string][]int64{
		"":                                {2, 3},
		"good":                            {2, 4, 3},
		"Goodod!":                         {2, 4, 6, 8, 3},
		"going go":                        {2, 5, 7, 5, 3},
		"xyz good":                        {2, 1, 4, 3},
		"ÜBERs":                           {2, 9, 10, 3},
		" \n\t":                           {2, 3},
		"good good good go":               {2, 4, 4, 4, 5, 3},
		"!!!!!!!!":                        {2, 8, 8, 8, 8, 8, 3},
		"\xff":                            {2, 1, 3},
		strings.Repeat("go", longestWord): {2, 1, 3},
	} {
		require.Equal(t, want, v.encode(nil, text, 7, true), text)
	}
	require.Equal(t, []int64{2, 1, 3}, v.encode(nil, "GOOD", 7, false))
}

func TestHashedWords(t *testing.T) {
	t.Parallel()
	v := hashed(1000)
	a := v.encode(nil, "the quick fox, the end", 100, true)
	require.Len(t, a, 8)
	require.Equal(t, a[1], a[5])
	for _, id := range a[1:7] {
		require.GreaterOrEqual(t, id, int64(4))
		require.Less(t, id, int64(1000))
	}
}

// Whatever the text, it is framed, bounded and made of known numbers.
func FuzzWordPieces(f *testing.F) {
	f.Add("good going!", 7)
	f.Add("\xff\xfe über\x00", 3)
	f.Add(strings.Repeat("o", 300), 2)
	v := readVocabulary([]byte(pieces))
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, 2), 1000)
		ids := v.encode(nil, text, most, true)
		if len(ids) < 2 || len(ids) > most || ids[0] != v.begin || ids[len(ids)-1] != v.end {
			t.Fatalf("%q at most %d: %v", text, most, ids)
		}
		for _, id := range ids {
			if id < 1 || id > 10 {
				t.Fatalf("%q: %v", text, ids)
			}
		}
		for rest := text; rest != ""; {
			before := len(rest)
			if _, rest = nextWord(rest); len(rest) >= before {
				t.Fatalf("%q: no progress", text)
			}
		}
	})
}

func BenchmarkWordPieces(b *testing.B) {
	v := readVocabulary([]byte(pieces))
	text := strings.Repeat("good going, über! ", 20)
	var ids []int64
	b.ReportAllocs()
	for b.Loop() {
		ids = v.encode(ids[:0], text, 512, true)
	}
}
