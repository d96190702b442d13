package example

import "strings"

// words are the words that the tokenizer of the text pipeline does not split. All other
// words of ASCII letters and digits are split into pieces.
const words = `the a an and or not of to in is it this that was were be been are as at by for from with on
i you he she we they my your his her our their me him them us what which who when where why how all any some no
good bad great best better worst worse love loved hate hated like liked happy sad nice awful terrible wonderful
excellent poor fine amazing boring fun funny beautiful ugly fast slow easy hard new old big small long short
movie film book story music song food place service product price quality time day night year people man woman
very really too so more most much many little never always often again still just only even also well
go went come came see saw make made get got take took give gave find found think thought know knew say said
works working broken perfect horrible disappointed recommend ##s ##ed ##ing ##ly ##er ##est ##ness ##ful ##less`

// vocabulary returns the tokenizer's file: one piece per line.
func vocabulary() string {
	pieces := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for _, r := range "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" {
		pieces = append(pieces, string(r))
	}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		if r != 'a' && r != 'i' { // words has them
			pieces = append(pieces, string(r))
		}
		pieces = append(pieces, "##"+string(r))
	}
	for _, w := range strings.Fields(words) {
		if w != "##s" { // the loop above has it
			pieces = append(pieces, w)
		}
	}
	return strings.Join(pieces, "\n") + "\n"
}
