package builtin

import (
	"bytes"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"triton/pkg/modelconfig/requirement"
)

// longestWord is the number of runes above which a word is unknown instead of split
// into pieces.
const longestWord = 100

// vocabulary turns words into the numbers of their pieces.
type vocabulary struct {
	ids  map[string]int64
	size uint32 // of the hash range, if there is no table
	// The numbers of the special pieces.
	padding, unknown, begin, end int64
}

// readVocabulary reads one piece per line, of a text that was checked. The number of a piece is
// its line number, from 0.
func readVocabulary(text []byte) *vocabulary {
	v := &vocabulary{ids: map[string]int64{}}
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		v.ids[string(bytes.TrimSuffix(line, []byte("\r")))] = int64(i)
	}
	for i, to := range []*int64{&v.padding, &v.unknown, &v.begin, &v.end} {
		*to = v.ids[requirement.SpecialPieces[i]]
	}
	return v
}

func hashed(size uint32) *vocabulary {
	return &vocabulary{size: size, padding: 0, unknown: 1, begin: 2, end: 3}
}

// encode appends the numbers of a text to dst, at most `most` of them, including the
// begin and the end piece.
func (v *vocabulary) encode(dst []int64, text string, most int, lower bool) []int64 {
	start := len(dst)
	dst = append(dst, v.begin)
	if lower {
		text = strings.ToLower(text)
	}
	for text != "" && len(dst)-start < most {
		var word string
		if word, text = nextWord(text); word != "" {
			dst = v.word(dst, word)
		}
	}
	dst = dst[:min(len(dst), start+most-1)]
	return append(dst, v.end)
}

// nextWord splits off the first word: a run of letters and digits, or one other rune.
// The word is empty for space.
func nextWord(text string) (word, rest string) {
	end := 0
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			end += n
			continue
		}
		switch {
		case end > 0:
			return text[:end], text[end:]
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return "", text[n:]
		}
		return text[:n], text[n:]
	}
	return text, ""
}

// word appends the pieces of a word: from its front, always the longest known piece.
// Pieces that do not begin a word start with ## in the vocabulary.
func (v *vocabulary) word(dst []int64, word string) []int64 {
	if v.ids == nil {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		return append(dst, int64(h.Sum32()%(v.size-uint32(len(requirement.SpecialPieces))))+int64(len(requirement.SpecialPieces)))
	}
	if utf8.RuneCountInString(word) > longestWord {
		return append(dst, v.unknown)
	}
	before, prefix := len(dst), ""
	for word != "" {
		end, id := len(word), int64(-1)
		for end > 0 {
			if n, ok := v.ids[prefix+word[:end]]; ok {
				id = n
				break
			}
			_, n := utf8.DecodeLastRuneInString(word[:end])
			end -= n
		}
		if id < 0 {
			return append(dst[:before], v.unknown)
		}
		dst = append(dst, id)
		word, prefix = word[end:], "##"
	}
	return dst
}
