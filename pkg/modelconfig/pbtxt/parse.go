package pbtxt

import "strings"

// maxDepth bounds the nesting of messages, as in modelconfig; what is deeper is left out.
const maxDepth = 64

// Parse reads a text.
func Parse(src []byte) *File {
	p := parser{src: string(src)}
	p.tokens = scan(p.src)
	f := &File{}
	for p.peek().kind != tokEnd {
		if field := p.field(0); field != nil {
			f.Fields = append(f.Fields, field)
		}
	}
	p.take()
	f.Dangling, f.Skipped = p.release(), p.skipped
	return f
}

type parser struct {
	src    string
	tokens []token
	next   int
	// pending are comments that were read and belong to no field yet.
	pending []Comment
	skipped []int
}

func (p *parser) peek() *token { return &p.tokens[p.next] }

func (p *parser) is(symbols string) bool {
	t := p.peek()
	return t.kind == tokSymbol && strings.Contains(symbols, t.text)
}

// take returns the next token; the comments before it become pending. The last token stays.
func (p *parser) take() *token {
	t := p.peek()
	for _, c := range t.before {
		p.pending = append(p.pending, c.Comment)
	}
	t.before = nil
	if t.kind != tokEnd {
		p.next++
	}
	return t
}

func (p *parser) release() []Comment {
	c := p.pending
	p.pending = nil
	return c
}

// trailing takes the comment on the line of the token before.
func (p *parser) trailing() *Comment {
	t := p.peek()
	if len(t.before) == 0 || !t.before[0].sameLine {
		return nil
	}
	c := t.before[0].Comment
	t.before = t.before[1:]
	return &c
}

// field reads a field and the separator behind it. It skips a token that cannot begin a field.
func (p *parser) field(depth int) *Field {
	t := p.take()
	f := &Field{Name: t.text, Blank: t.blank, Start: t.start, Line: t.line, End: t.end}
	switch {
	case t.kind == tokName:
	case t.kind == tokSymbol && t.text == "[":
		for p.peek().kind == tokName || p.is("./-") {
			f.Name += p.take().text
		}
		if p.is("]") {
			f.End = p.take().end
			f.Name += "]"
		}
	default:
		p.skipped = append(p.skipped, t.start)
		return nil
	}
	f.Leading = p.release()
	if p.is(":") {
		f.Colon = true
		f.End = p.take().end
	}
	if f.Value = p.value(depth); f.Value != nil {
		f.End = f.Value.End
	}
	f.Leading = append(f.Leading, p.release()...)
	f.Trailing = p.trailing()
	f.After = f.End
	if p.is(",;") {
		f.After = p.take().end
		if f.Trailing == nil {
			f.Trailing = p.trailing()
		}
	}
	return f
}

// value reads a value; nil if there is none. Comments before its first token become pending.
func (p *parser) value(depth int) *Value {
	t := p.peek()
	var v *Value
	switch {
	case p.is("{<"):
		if depth >= maxDepth {
			return nil
		}
		v = p.message(depth)
	case p.is("["):
		v = p.list(depth)
	case t.kind == tokName && p.beginsField():
		return nil // the value is not written yet
	case p.is("-") || t.kind == tokName || t.kind == tokNumber || t.kind == tokString:
		v = p.scalar()
	default:
		return nil
	}
	v.Start, v.Line = t.start, t.line
	v.Multiline = strings.Contains(p.src[v.Start:v.End], "\n")
	return v
}

// beginsField reports whether the next name is a field's: a value has no colon or bracket behind it.
func (p *parser) beginsField() bool {
	t := p.tokens[p.next+1]
	return t.kind == tokSymbol && strings.Contains(":{<", t.text)
}

func (p *parser) scalar() *Value {
	t := p.take()
	first := Part{Text: t.text, Start: t.start, End: t.end, Line: t.line}
	if t.kind == tokSymbol { // a sign
		if next := p.peek(); next.kind == tokName || next.kind == tokNumber {
			n := p.take()
			first.Text += n.text
			first.End = n.end
		}
	}
	v := &Value{Parts: []Part{first}, End: first.End}
	for t.kind == tokString && p.peek().kind == tokString {
		v.Parts[len(v.Parts)-1].Trailing = p.trailing()
		outer := p.release()
		s := p.take()
		v.Parts = append(v.Parts, Part{Text: s.text, Leading: p.release(), Start: s.start, End: s.end, Line: s.line})
		v.End = s.end
		p.pending = outer
	}
	return v
}

func (p *parser) message(depth int) *Value {
	v := &Value{Kind: Message}
	v.End = p.take().end
	outer := p.release()
	v.Opening = p.trailing()
	for {
		switch {
		case p.peek().kind == tokEnd:
			v.End = p.peek().start
		case p.is("}>"):
			v.Closed = true
			v.End = p.take().end
		default:
			if f := p.field(depth + 1); f != nil {
				v.Fields = append(v.Fields, f)
				v.End = f.End
			}
			continue
		}
		v.Dangling = p.release()
		p.pending = outer
		return v
	}
}

func (p *parser) list(depth int) *Value {
	v := &Value{Kind: List}
	v.End = p.take().end
	outer := p.release()
	v.Opening = p.trailing()
	for {
		switch {
		case p.is("]"):
			v.Closed = true
			v.End = p.take().end
		case p.is(","):
			p.take()
			continue
		default:
			if e := p.element(depth); e != nil {
				v.Values = append(v.Values, e)
				v.End = e.End
				continue
			}
		}
		v.Dangling = p.release()
		p.pending = outer
		return v
	}
}

// element reads a value of a list and the comma behind it.
func (p *parser) element(depth int) *Value {
	above := p.release()
	e := p.value(depth)
	if e == nil {
		p.pending = above
		return nil
	}
	e.Leading = append(above, p.release()...)
	e.Trailing = p.trailing()
	if p.is(",") {
		p.take()
		if e.Trailing == nil {
			e.Trailing = p.trailing()
		}
	}
	return e
}
