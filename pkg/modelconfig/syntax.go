package modelconfig

import "fmt"

// maxDepth bounds the nesting of messages; the schema needs 7.
const maxDepth = 64

// node is one "name: value" of the text. The schema is not known here; binder applies it.
type node struct {
	name      string
	pos       Position
	extension bool
	colon     bool
	list      bool
	open      Position // of the list
	values    []value
}

// value is a scalar (one token, perhaps with a sign) or a message.
type value struct {
	pos      Position
	tok      token
	minus    bool
	message  bool
	reported bool   // its mistake has been reported
	hint     string // what to do about a value that the field cannot take; empty: the field says it
	fields   []node
}

// syntax parses tokens into nodes. It continues after a missing colon or comma and
// stops at any other mistake.
type syntax struct {
	scan    scanner
	tok     token
	errs    []*SyntaxError
	stopped bool
}

func (p *syntax) advance() token {
	t := p.tok
	p.tok = p.scan.next()
	if p.scan.err != nil && !p.stopped {
		p.errs = append(p.errs, p.scan.err)
		p.stopped = true
	}
	return t
}

func (p *syntax) is(symbol string) bool { return p.tok.kind == tokSymbol && p.tok.text == symbol }

func (p *syntax) accept(symbol string) bool {
	if !p.is(symbol) {
		return false
	}
	p.advance()
	return true
}

// report records a mistake after which parsing continues.
func (p *syntax) report(at Position, msg, hint string) {
	if !p.stopped {
		p.errs = append(p.errs, &SyntaxError{Pos: at, Msg: msg, Hint: hint})
	}
}

// fail records a mistake and ends parsing.
func (p *syntax) fail(at Position, msg, hint string) {
	p.report(at, msg, hint)
	p.stopped = true
}

// expect returns the message for a token other than the expected symbol.
func (p *syntax) expect(symbol string) string {
	return fmt.Sprintf(`Expected "%s", found "%s".`, symbol, p.tok.text)
}

// fields reads up to and including the closing symbol, or to the end of the file if
// closing is empty.
func (p *syntax) fields(closing string, opened Position, depth int) []node {
	var list []node
	for !p.stopped {
		switch {
		case closing != "" && p.accept(closing), closing == "" && p.tok.kind == tokEOF:
			return list
		case closing != "" && (p.is("}") || p.is(">")):
			p.fail(p.tok.pos, p.expect(closing),
				fmt.Sprintf("the message opened at line %d column %d needs its own closing sign", opened.Line, opened.Col))
		case p.tok.kind == tokEOF:
			p.fail(p.tok.pos, "Expected identifier, got: ",
				fmt.Sprintf("close the message opened at line %d column %d with %q", opened.Line, opened.Col, closing))
		case p.tok.kind != tokIdent && !p.is("["):
			p.fail(p.tok.pos, "Expected identifier, got: "+p.tok.text, p.noNameHint(closing, opened, list))
		default:
			list = append(list, p.field(depth))
		}
	}
	return list
}

func (p *syntax) field(depth int) node {
	n := node{pos: p.tok.pos}
	if p.is("[") {
		p.extensionName(&n)
	} else {
		n.name = p.advance().text
	}
	colon := p.tok.pos
	if n.colon = p.accept(":"); !n.colon {
		colon = Position{}
	}
	switch {
	case !n.colon && p.tok.kind == tokEOF:
		p.fail(p.tok.pos, p.expect(":"), "the file ends here")
		return n
	case !n.colon && (p.tok.kind != tokSymbol || p.is("-")):
		p.report(p.tok.pos, p.expect(":"), "write "+n.name+": ...")
		n.colon = true // so that binder does not report it again
	}
	if p.is("[") {
		p.list(&n, depth)
	} else {
		n.values = append(n.values, p.value(depth, colon))
	}
	if !p.accept(";") {
		p.accept(",")
	}
	return n
}

// extensionName reads "[a.b/c]", which is never valid in a configuration.
func (p *syntax) extensionName(n *node) {
	n.extension = true
	p.advance()
	for p.tok.kind == tokIdent || p.is(".") || p.is("/") || p.is("-") {
		n.name += p.advance().text
	}
	if !p.accept("]") {
		p.fail(p.tok.pos, p.expect("]"), "a field starts with its name")
	}
}

func (p *syntax) list(n *node, depth int) {
	n.open = p.advance().pos
	n.list = true
	for !p.stopped {
		if len(n.values) == 0 && p.accept("]") {
			return
		}
		trailing := len(n.values) > 0 && p.is("]")
		v := p.value(depth, Position{})
		if trailing {
			v.hint = "remove the comma before the ]"
		}
		n.values = append(n.values, v)
		switch {
		case p.stopped || p.accept("]"):
			return
		case p.accept(","):
		case p.tok.kind == tokEOF:
			p.fail(p.tok.pos, p.expect("]"), fmt.Sprintf("close the list opened at line %d column %d", n.open.Line, n.open.Col))
		case p.tok.kind == tokSymbol && !p.is("-") && !p.is("{") && !p.is("<"):
			p.fail(p.tok.pos, p.expect("]"),
				fmt.Sprintf("separate the values with commas, and close the list opened at line %d column %d with \"]\"", n.open.Line, n.open.Col))
		case p.tok.kind == tokIdent && n.values[0].message:
			p.fail(p.tok.pos, p.expect(","), fmt.Sprintf("close the list opened at line %d column %d with \"]\"", n.open.Line, n.open.Col))
		default:
			p.report(p.tok.pos, p.expect(","), "separate the values of a list with commas")
		}
	}
}

// startsField reports whether the token begins the next field: then the value after the colon is
// missing. The token is left, so that only the missing value is a mistake.
func (p *syntax) startsField(colon Position) bool {
	if p.tok.kind != tokIdent || colon.Line == 0 || p.tok.pos.Line == colon.Line {
		return false
	}
	ahead := p.scan
	next := ahead.next()
	return next.kind == tokSymbol && (next.text == ":" || next.text == "{" || next.text == "[")
}

// value reads a value. colon is the position of the colon before it; zero: there is none.
func (p *syntax) value(depth int, colon Position) value {
	v := value{pos: p.tok.pos}
	switch {
	case p.is("{"), p.is("<"):
		v.message = true
		if depth >= maxDepth {
			p.fail(v.pos, "Message is too deep, the parser exceeded the configured recursion limit.",
				fmt.Sprintf("nest at most %d messages", maxDepth))
			v.reported = true
			return v
		}
		closing := "}"
		if p.advance().text == "<" {
			closing = ">"
		}
		v.fields = p.fields(closing, v.pos, depth+1)
		return v
	case p.is("-"):
		v.minus = true
		p.advance()
	}
	switch p.tok.kind {
	case tokIdent, tokInt, tokFloat:
		if v.tok = p.tok; !p.startsField(colon) {
			p.advance()
		}
	case tokString:
		v.tok = p.advance()
		var parts []byte
		for p.tok.kind == tokString { // adjacent strings are one
			if parts == nil {
				parts = append(parts, v.tok.value...)
			}
			parts = append(parts, p.advance().value...)
		}
		if parts != nil {
			v.tok.value = string(parts)
		}
	default:
		v.tok = p.tok // no value: binder knows the expected type and reports the mistake
		v.reported, v.hint = p.scan.err != nil, p.noValueHint()
		p.stopped = true
	}
	return v
}
