package tritonjson

// The reasons of syntax errors. Clients match the texts of Triton's JSON
// library, byte offset included.
const (
	reasonEmpty        = "The document is empty."
	reasonRoot         = "The document root must not be followed by other values."
	reasonValue        = "Invalid value."
	reasonName         = "Missing a name for object member."
	reasonColon        = "Missing a colon after a name of object member."
	reasonObjectComma  = "Missing a comma or '}' after an object member."
	reasonArrayComma   = "Missing a comma or ']' after an array element."
	reasonHex          = "Incorrect hex digit after \\u escape in string."
	reasonSurrogate    = "The surrogate pair in string is invalid."
	reasonEscape       = "Invalid escape character in string."
	reasonQuote        = "Missing a closing quotation mark in string."
	reasonNumberTooBig = "Number too big to be stored in double."
	reasonFraction     = "Miss fraction part in number."
	reasonExponent     = "Miss exponent in number."
	reasonDepth        = "JSON nesting depth exceeds maximum allowed limit (256)"
)

// maxDepth bounds the nesting of a text. The limit and its reason are ours:
// Triton's server overflows its stack instead.
const maxDepth = 256

// Skip skips one value and checks its syntax. depth is the number of arrays and objects
// around the value.
func (r *Reader) Skip(depth int) bool {
	switch r.Peek() {
	case '{':
		return r.skipObject(depth + 1)
	case '[':
		return r.skipArray(depth + 1)
	case '"':
		_, ok := r.MeasureText()
		return ok
	case 't':
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	}
	var n number
	return r.number(&n)
}

func (r *Reader) skipObject(depth int) bool {
	if !r.enterAt(depth) {
		return false
	}
	for first := true; ; first = false {
		name, ok := r.Member(first)
		if !ok || name == nil {
			return ok
		}
		if !r.Skip(depth) {
			return false
		}
	}
}

func (r *Reader) skipArray(depth int) bool {
	if !r.enterAt(depth) {
		return false
	}
	for first := true; ; first = false {
		more, ok := r.Element(first)
		if !ok || !more {
			return ok
		}
		if !r.Skip(depth) {
			return false
		}
	}
}

func (r *Reader) enterAt(depth int) bool {
	if depth > maxDepth {
		return r.fail(reasonDepth, r.at)
	}
	r.Enter()
	return true
}

// Member moves to the value of an object's next member and returns the member's
// name, which is valid until the next string is read. The name is nil at the end
// of the object.
func (r *Reader) Member(first bool) (name []byte, ok bool) {
	r.Space()
	switch c := r.Peek(); {
	case c == '}':
		r.at++
		return nil, true
	case first:
	case c == ',':
		r.at++
		r.Space()
	default:
		return nil, r.fail(reasonObjectComma, r.at)
	}
	if r.Peek() != '"' {
		return nil, r.fail(reasonName, r.at)
	}
	if name, ok = r.str(); !ok {
		return nil, false
	}
	r.Space()
	if r.Peek() != ':' {
		return nil, r.fail(reasonColon, r.at)
	}
	r.at++
	r.Space()
	return name, true
}

// Find moves to the value of the first member with that name of the object at an offset. It
// reports false if the object has no such member or the value is not an object. The syntax
// must have been checked.
func (r *Reader) Find(object int, name string) bool {
	r.at = object
	if !r.Is('{') {
		return false
	}
	r.Enter()
	for first := true; ; first = false {
		got, ok := r.Member(first)
		if !ok || got == nil {
			return false
		}
		if string(got) == name {
			return true
		}
		if !r.Skip(0) {
			return false
		}
	}
}

// Element moves to an array's next element; more is false at the end of the
// array.
func (r *Reader) Element(first bool) (more, ok bool) {
	r.Space()
	c := r.Peek()
	switch {
	case c == ']':
		r.at++
		return false, true
	case first:
		return true, true
	case c == ',':
		r.at++
		r.Space()
		if r.Peek() == ']' {
			return false, r.fail(reasonValue, r.at)
		}
		return true, true
	}
	return false, r.fail(reasonArrayComma, r.at)
}

// Separator skips the comma or the closing bracket after an element of an array; more is
// true for a comma. Readers of nested arrays that count the depth themselves use it instead
// of Element.
func (r *Reader) Separator() (more, ok bool) {
	if r.at < len(r.text) && r.text[r.at] == ',' {
		r.at++
		return true, true
	}
	r.Space()
	c := r.Peek()
	r.at++
	if c != ',' && c != ']' {
		return false, r.fail(reasonArrayComma, r.at-1)
	}
	return c == ',', true
}

func (r *Reader) literal(word string) bool {
	for k := range len(word) {
		if r.Peek() != word[k] {
			return r.fail(reasonValue, r.at)
		}
		r.at++
	}
	return true
}
