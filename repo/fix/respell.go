package fix

import (
	"bytes"

	"triton/pkg/modelconfig"
	"triton/repo"
)

// respelling writes a word of the schema over a misspelled one.
type respelling struct {
	at, end int // of the misspelled word in the text
	right   string
	made    correction
	now     modelconfig.Position // of the right word in the corrected text
}

// respell corrects the misspelled words of a text, except those of which the correction is a mistake
// too. The findings are sorted from the end of the text to its start. It corrects all words at once:
// the text is read once, not for each of them.
func respell(model string, src []byte, found []repo.Finding) (out []byte, made []correction) {
	var words []respelling
	for _, f := range found {
		x, ok := Of(model, src, f)
		if !ok || x.right == "" {
			continue
		}
		at, word, err := wordAt(src, f.Line, f.Col)
		if err != nil || string(word) == x.right {
			continue
		}
		if n := len(words); n > 0 && at+len(word) > words[n-1].at {
			continue // another finding about the same word
		}
		words = append(words, respelling{
			at: at, end: at + len(word), right: x.right,
			made: correction{place: place{rule: f.Rule}, title: f.Rule + ": " + x.Title},
		})
	}
	for len(words) > 0 {
		out = rewrite(src, words)
		wrong, kept := mistakes(out), words[:0]
		for _, w := range words {
			if !wrong[w.now] {
				kept = append(kept, w)
			}
		}
		if len(kept) == len(words) {
			break
		}
		words = kept
	}
	for _, w := range words {
		made = append(made, w.made)
	}
	return out, made
}

// rewrite returns the text with the right words, and notes where each is.
func rewrite(src []byte, words []respelling) []byte {
	var out []byte
	line, lineStart := 1, 0 // in the corrected text
	copied := 0             // up to where src is in it
	for i := len(words) - 1; i >= 0; i-- {
		w := &words[i]
		between := src[copied:w.at]
		if n := bytes.LastIndexByte(between, '\n'); n >= 0 {
			line += bytes.Count(between, []byte("\n"))
			lineStart = len(out) + n + 1
		}
		out = append(out, between...)
		w.now = modelconfig.Position{Line: line, Col: len(out) - lineStart + 1}
		out = append(out, w.right...)
		copied = w.end
	}
	return append(out, src[copied:]...)
}
