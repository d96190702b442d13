package modelconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Hints for texts that are right in another language, or nearly right.

const (
	hintJSON    = "the text is JSON: `triton repo fmt --from-json -w` converts the file"
	hintComment = "a comment begins with #"
	hintList    = "write a list in brackets: [ 1, 2 ]"
	hintUTF16   = "the file is UTF-16: save it as UTF-8"
)

// noNameHint returns what to do about a token that begins no field. before are the fields before it
// in its message, which is closed by closing.
func (p *syntax) noNameHint(closing string, opened Position, before []node) string {
	var last node
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	scalar := len(last.values) > 0 && !last.values[0].message
	begins := p.tok.kind == tokInt || p.tok.kind == tokFloat || p.is("-") // a number
	switch {
	case p.is("}"), p.is(">"):
		return "it closes nothing: remove it or add the missing opening brace"
	case p.is("]") && closing == "":
		return "it closes nothing: remove it or add the missing opening bracket"
	case p.is("]"):
		return fmt.Sprintf("first close the message opened at line %d column %d with %q", opened.Line, opened.Col, closing)
	case p.is("/"), p.is("-") && p.scan.off < len(p.scan.src) && p.scan.src[p.scan.off] == '-':
		return hintComment
	case p.is("{") && closing == "" && last.name == "":
		return hintJSON
	case p.is("{") && opened.Line == p.tok.pos.Line && opened.Col == p.tok.pos.Col-1:
		return unfilled(upTo(p.scan.src[p.scan.off-2:], "}}"))
	case p.is("{"), p.is("<"):
		if last.name == "" || scalar {
			return "write the name of the field before it"
		}
		return fmt.Sprintf("write %s before each { ... }, or all of them as one list: %s [ { ... }, { ... } ]", last.name, last.name)
	case begins && scalar:
		return fmt.Sprintf("write a list in brackets: %s: [ %s, %s ]", last.name, last.values[0].signed(), strings.TrimSpace(p.tok.text+p.afterMinus()))
	case begins && closing != "" && last.name == "":
		return hintList
	case p.tok.kind == tokString && p.followedBy(":"):
		return "write the name of a field without quotes: " + p.tok.value
	case p.tok.kind == tokString && scalar:
		return fmt.Sprintf("write a list in brackets: %s: [ %s, %s ]", last.name, last.values[0].signed(), p.tok.text)
	}
	if hint := p.placeholderHint(); hint != "" {
		return hint
	}
	return "a field starts with its name"
}

// noValueHint returns what to do about a token that is no value; empty: the field says it.
func (p *syntax) noValueHint() string {
	switch {
	case p.is("("):
		return hintList
	case p.is("/"):
		return hintComment
	}
	return p.placeholderHint()
}

// followedBy reports whether the token after the current one is a symbol.
func (p *syntax) followedBy(symbol string) bool {
	ahead := p.scan
	next := ahead.next()
	return next.kind == tokSymbol && next.text == symbol
}

// afterMinus returns the number whose sign is the current token.
func (p *syntax) afterMinus() string {
	if !p.is("-") {
		return ""
	}
	ahead := p.scan
	return ahead.next().text
}

// placeholderHint returns the hint for a placeholder of a template that begins with the current token.
func (p *syntax) placeholderHint() string {
	if p.tok.kind != tokSymbol {
		return ""
	}
	rest := p.scan.src[p.scan.off-1:]
	switch end := placeholderEnd(rest); {
	case end > 0:
		return unfilled(rest[:end])
	case p.is("@"), p.is("%"):
		return unfilled(upTo(rest, p.tok.text))
	}
	return ""
}

// placeholderEnd returns the length of the placeholder ${name} or $name with which a text begins; 0: it
// begins with none.
func placeholderEnd(text string) int {
	if len(text) < 2 || text[0] != '$' {
		return 0
	}
	n := 1
	braced := text[1] == '{'
	if braced {
		n++
	}
	from := n
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	switch {
	case n == from || isDigit(text[from]):
		return 0
	case !braced:
		return n
	case n < len(text) && text[n] == '}':
		return n + 1
	}
	return 0
}

// Placeholder returns the first placeholder ${name} of a template in a text; empty: there is none. A
// name after two dollar signs, such as $$TRITON_MODEL_DIRECTORY, is the server's and no placeholder.
func Placeholder(text string) string {
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], "${")
		if i < 0 {
			return ""
		}
		at += i
		if n := placeholderEnd(text[at:]); n > 0 && (at == 0 || text[at-1] != '$') {
			return text[at : at+n]
		}
		at += 2
	}
	return ""
}

func unfilled(placeholder string) string {
	return fmt.Sprintf("the placeholder %s of a template was not filled in: write its value", placeholder)
}

// upTo returns a text up to and including an ending, which begins after the first byte, on its line.
func upTo(text, ending string) string {
	line, _, _ := strings.Cut(text, "\n")
	if i := strings.Index(line[1:], ending); i >= 0 {
		return line[:1+i+len(ending)]
	}
	return strings.TrimRight(line, "\r")
}

// signed returns a scalar as written.
func (v *value) signed() string {
	if v.minus {
		return "-" + v.tok.text
	}
	return v.tok.text
}

// failValue reports a value that its field cannot take. hint is used where the value itself does not
// show what went wrong.
func (b *binder) failValue(fd protoreflect.FieldDescriptor, v *value, msg, hint string) {
	switch {
	case v.hint != "":
		hint = v.hint
	case v.message:
	case v.tok.kind == tokString && Placeholder(v.tok.value) != "":
		hint = unfilled(Placeholder(v.tok.value))
	case fd.IsList() && slices.Contains(dimensions, string(fd.Name())) && namesSize(v):
		hint = fmt.Sprintf("%q takes whole numbers, and -1 for a dimension of any size", fd.Name())
	}
	b.fail(v.pos, msg, hint)
}

// namesSize reports whether a value may be meant as a dimension whose size is not known, such as None, "batch"
// or ?.
func namesSize(v *value) bool {
	switch v.tok.kind {
	case tokString:
		_, err := strconv.Atoi(v.tok.value)
		return err != nil
	case tokIdent:
		return true
	case tokSymbol:
		return v.tok.text == "?" || v.tok.text == "*"
	}
	return false
}

// dimensions are the fields that hold shapes.
var dimensions = []string{"dims", "shape", "dim"}
