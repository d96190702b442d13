package traffic

import (
	"regexp"
	"strconv"
	"strings"

	"triton/pkg/kserve"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// key reads a value of a request: a header, a parameter or the correlation ID.
type key struct {
	header, parameter string // the header in lower case
	correlation       bool
}

// text returns a header or a parameter of a request; empty without one. A parameter that is a
// number is returned as it is, because its text would have to be allocated.
func (k *key) text(r *infer.Request, h infer.Headers) (text string, number *kserve.Parameter) {
	if k.header != "" {
		if h == nil {
			return "", nil
		}
		return h.HeaderValue(k.header), nil
	}
	for i := range r.Parameters {
		switch p := &r.Parameters[i]; {
		case p.Name != k.parameter:
		case p.Kind == kserve.ParamString:
			return p.String, nil
		default:
			return "", p
		}
	}
	return "", nil
}

// hash returns the hash of the value of a request. It reports false without a value.
func (k *key) hash(r *infer.Request, h infer.Headers) (uint64, bool) {
	var buf [32]byte
	if k.correlation {
		switch {
		case r.SequenceIDStr != "":
			return hashBytes(0, r.SequenceIDStr), true
		case r.SequenceID != 0:
			return hashBytes(0, strconv.AppendUint(buf[:0], r.SequenceID, 10)), true
		}
		return 0, false
	}
	text, number := k.text(r, h)
	if number != nil {
		return hashBytes(0, appendNumber(buf[:0], number)), true
	}
	return hashBytes(0, text), text != ""
}

func appendNumber(b []byte, p *kserve.Parameter) []byte {
	switch p.Kind {
	case kserve.ParamBool:
		return strconv.AppendBool(b, p.Bool)
	case kserve.ParamInt:
		return strconv.AppendInt(b, p.Int, 10)
	case kserve.ParamUint:
		return strconv.AppendUint(b, p.Uint, 10)
	}
	return strconv.AppendFloat(b, p.Double, 'g', -1, 64)
}

// matcher is a compiled trafficrules.Match.
type matcher struct {
	key    key
	rule   string // label
	exact  *string
	prefix *string
	regex  *regexp.Regexp
	to     int // target
}

func newMatcher(i int, m *trafficrules.Match, to int) matcher {
	name := m.Name
	if name == "" {
		name = strconv.Itoa(i)
	}
	c := matcher{
		key:  key{header: strings.ToLower(m.Header), parameter: m.Parameter},
		rule: "match:" + name, exact: m.Exact, prefix: m.Prefix, to: to,
	}
	if m.Regex != nil {
		c.regex = regexp.MustCompile(*m.Regex) // the document was checked
	}
	return c
}

// matches reports whether a request has a value that matches.
func (m *matcher) matches(r *infer.Request, h infer.Headers) bool {
	text, number := m.key.text(r, h)
	if number != nil {
		text = string(appendNumber(nil, number))
	}
	switch {
	case text == "":
		return false
	case m.exact != nil:
		return text == *m.exact
	case m.prefix != nil:
		return strings.HasPrefix(text, *m.prefix)
	case m.regex != nil:
		return m.regex.MatchString(text)
	}
	return true
}
