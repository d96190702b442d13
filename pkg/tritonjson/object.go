package tritonjson

// Object is a JSON object with the accessors and error texts of Triton's JSON
// layer: a value of another type than the requested one is an internal error. It
// refers to the text that it was read from. Messages without tensors are read this
// way. A name must not be given twice: Triton's layer reads the first one, and the
// other would be lost without a word.
type Object struct {
	text []byte
	at   int
}

// Value is the value of a member of an Object.
type Value struct {
	text []byte
	at   int
}

// ParseObject checks the syntax of a text and returns its object. A value that is not an
// object counts as an object without members, as in Triton.
func ParseObject(text []byte) (Object, error) {
	var r Reader
	r.Reset(text)
	if !r.Document() {
		return Object{}, r.Err()
	}
	return Object{text, r.at}.unique()
}

// unique returns the object, or an error if it has two members of one name.
func (o Object) unique() (Object, error) {
	seen := map[string]struct{}{}
	err := o.Each(func(name string, _ Value) error {
		if _, again := seen[name]; again {
			return accessError("the request has more than one member '" + name + "'")
		}
		seen[name] = struct{}{}
		return nil
	})
	if err != nil {
		return Object{}, err
	}
	return o, nil
}

func cursor(text []byte, at int) *Reader { return &Reader{text: text, at: at} }

// Get returns the value of the member with that name. It reports false when the
// object has no such member.
func (o Object) Get(name string) (Value, bool) {
	r := cursor(o.text, o.at)
	if !r.Find(o.at, name) {
		return Value{}, false
	}
	return Value{o.text, r.at}, true
}

// Each calls visit with every member in text order until visit returns an error,
// which Each returns.
func (o Object) Each(visit func(name string, v Value) error) error {
	r := cursor(o.text, o.at)
	if !r.Is('{') {
		return nil
	}
	r.Enter()
	for first := true; ; first = false {
		name, ok := r.Member(first)
		if !ok || name == nil {
			return nil // ParseObject checked the syntax
		}
		if err := visit(string(name), Value{o.text, r.at}); err != nil {
			return err
		}
		if !r.Skip(0) {
			return nil
		}
	}
}

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return cursor(v.text, v.at).Is('n') }

// String returns a string value.
func (v Value) String() (string, error) {
	s, err := cursor(v.text, v.at).Text()
	return string(s), err
}

// Bool returns a boolean value.
func (v Value) Bool() (bool, error) { return cursor(v.text, v.at).Bool() }

// Uint returns an unsigned integer, which is written without fraction and
// exponent.
func (v Value) Uint() (uint64, error) { return cursor(v.text, v.at).Uint() }

// Object returns an object value.
func (v Value) Object() (Object, error) {
	if !cursor(v.text, v.at).Is('{') {
		return Object{}, errObject
	}
	return Object(v).unique()
}

// Strings returns an array of strings.
func (v Value) Strings() ([]string, error) {
	r := cursor(v.text, v.at)
	if !r.Is('[') {
		return nil, ErrArray
	}
	r.Enter()
	var all []string
	for first := true; ; first = false {
		more, ok := r.Element(first)
		if !ok || !more {
			return all, nil // ParseObject checked the syntax
		}
		s, err := r.Text()
		if err != nil {
			return nil, err
		}
		all = append(all, string(s))
	}
}
