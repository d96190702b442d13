package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// leading is the longest prefix of text that is a number of the kind that
// accepts says, as C++'s stoi and stod read it.
func leading(text string, accepts string) string {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (strings.IndexByte(accepts, text[end]) >= 0 || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	return text[:end]
}

func errParse(o occurrence) error {
	return fmt.Errorf("Failed to parse %s. Invalid value provided: %s", o.name(), o.text)
}

func integer(o occurrence, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(leading(text, "0123456789"), "+"))
	if err != nil {
		return 0, errParse(o)
	}
	return n, nil
}

// positive reads a number that must be above a bound; label and tail make the
// error's text.
func positive(o occurrence, label, tail string, atLeast int) (int, error) {
	n, err := integer(o, o.text)
	if err == nil && n < atLeast {
		err = fmt.Errorf("Failed to parse %s. The value must be %s", label, tail)
	}
	return n, err
}

func millis(o occurrence, label, tail string, atLeast int, into *time.Duration) error {
	n, err := positive(o, label, tail, atLeast)
	*into = time.Duration(n) * time.Millisecond
	return err
}
