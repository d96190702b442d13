package fix

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
)

// target is a finding to correct.
type target struct {
	repo.Finding
	model string // name of its directory
	src   []byte
}

// corrections returns the correction of a finding by its rule, if there is one. Some read it from
// the hint, which is of one form for a rule: "write FIELD: VALUE" or "did you mean "NAME"?".
var corrections = map[string]func(target) (Fix, bool){
	"TRN001": misspelled,
	"TRN004": comment,
	"TRN102": name,
	"TRN103": backendNotPlatform,
	"TRN104": platform,
	"TRN105": backend,
	"TRN205": emptyReshape,
	"TRN206": removeField("format"),
	"TRN207": removeField("is_shape_tensor", "is_non_linear_format_io"),
	"TRN210": duplicate,
	"TRN315": preferred,
	"TRN404": removeField("profile"),
	"TRN410": removeField("count"),
	"TRN602": tensorName,
	"TRN603": written,
	"TRN604": written,
	"TRN712": version,
	"TRN820": parameter,
}

// edited returns the correction that edits the text field by field.
func edited(title string, change func(*pbtxt.Editor) error) (Fix, bool) {
	return Fix{Title: title, apply: func(src []byte) ([]byte, error) {
		text, err := pbtxt.NewEditor(src)
		if err != nil {
			return nil, err
		}
		if err := change(text); err != nil {
			return nil, err
		}
		return text.Bytes(), nil
	}}, true
}

// removeField removes the field that the finding is about, if it has one of the names.
func removeField(names ...string) func(target) (Fix, bool) {
	return func(t target) (Fix, bool) {
		field := t.Field[strings.LastIndexByte(t.Field, '.')+1:]
		if !slices.Contains(names, field) {
			return Fix{}, false
		}
		return edited("remove "+field, func(text *pbtxt.Editor) error { return text.Remove(t.Field) })
	}
}

// emptyReshape removes a reshape to a scalar from a model that does not batch.
func emptyReshape(t target) (Fix, bool) {
	if !strings.HasPrefix(t.Hint, "remove reshape: ") {
		return Fix{}, false
	}
	return removeField("reshape")(t)
}

// named is the backend in the hint about a platform that is none.
var named = regexp.MustCompile(`^write backend: "\w+" instead`)

func backendNotPlatform(t target) (Fix, bool) {
	if !named.MatchString(t.Hint) {
		return Fix{}, false
	}
	return edited("write backend instead of platform", func(text *pbtxt.Editor) error { return text.Rename("platform", "backend") })
}

// platform removes the platform that contradicts the backend.
func platform(target) (Fix, bool) {
	return edited("remove platform", func(text *pbtxt.Editor) error { return text.Remove("platform") })
}

func name(t target) (Fix, bool) {
	return edited("write name: "+strconv.Quote(t.model), func(text *pbtxt.Editor) error {
		return text.Set("name", strconv.Quote(t.model))
	})
}

// backend removes the backend of what is an ensemble otherwise.
func backend(t target) (Fix, bool) {
	c, err := modelconfig.Parse(t.File, t.src)
	if err != nil || c.GetEnsembleScheduling() == nil || c.Platform != "ensemble" || c.Backend == "" {
		return Fix{}, false
	}
	return edited("remove backend", func(text *pbtxt.Editor) error { return text.Remove("backend") })
}

// duplicate removes an input or output that says the same as an earlier one.
func duplicate(t target) (Fix, bool) {
	c, err := modelconfig.Parse(t.File, t.src)
	if err != nil {
		return Fix{}, false
	}
	element := strings.TrimSuffix(t.Field, ".name")
	kind, index, _ := strings.Cut(strings.TrimSuffix(element, "]"), "[")
	n, err := strconv.Atoi(index)
	if err != nil {
		return Fix{}, false
	}
	same := func(list []proto.Message) bool {
		return n < len(list) && slices.ContainsFunc(list[:n], func(m proto.Message) bool { return proto.Equal(m, list[n]) })
	}
	list := map[string][]proto.Message{"input": messages(c.Input), "output": messages(c.Output)}[kind]
	if !same(list) { // or a tensor of sequence_batching, of which either may be meant
		return Fix{}, false
	}
	return edited("remove the second "+kind, func(text *pbtxt.Editor) error { return text.Remove(element) })
}

func messages[M proto.Message](list []M) []proto.Message {
	all := make([]proto.Message, len(list))
	for i, m := range list {
		all[i] = m
	}
	return all
}

// preferred sorts preferred batch sizes, of which the order has no effect.
func preferred(target) (Fix, bool) {
	return Fix{Title: "sort preferred_batch_size", apply: func(src []byte) ([]byte, error) {
		return become(src, func(c *pb.ModelConfig) error {
			d := c.GetDynamicBatching()
			if d == nil {
				return errNothing
			}
			slices.Sort(d.PreferredBatchSize)
			d.PreferredBatchSize = slices.Compact(d.PreferredBatchSize)
			return nil
		})
	}}, true
}

// errNothing means that the text is no longer what the finding is about.
var errNothing = errors.New("there is nothing to correct")

// become edits a text until it is the configuration that change makes of it.
func become(src []byte, change func(*pb.ModelConfig) error) ([]byte, error) {
	c, err := modelconfig.Parse("", src)
	if err != nil {
		return nil, err
	}
	if err := change(c.ModelConfig); err != nil {
		return nil, err
	}
	return pbtxt.Apply(src, c.ModelConfig)
}

// meant is the name in the hint `did you mean "NAME"?`.
var meant = regexp.MustCompile(`^did you mean ("[^"]+")\?$`)

func tensorName(t target) (Fix, bool) {
	m := meant.FindStringSubmatch(t.Hint)
	if m == nil || !strings.HasSuffix(t.Field, ".name") {
		return Fix{}, false
	}
	return edited("write name: "+m[1], func(text *pbtxt.Editor) error { return text.Set(t.Field, m[1]) })
}

// correct is the field and value in the hint "write FIELD: VALUE".
var correct = regexp.MustCompile(`^write (?:data_type: (TYPE_\w+)|dims: (\[ [-0-9, ]+ \])|reshape \{ shape: (\[ [-0-9, ]* \]) \})$`)

func written(t target) (Fix, bool) {
	m := correct.FindStringSubmatch(t.Hint)
	if m == nil {
		return Fix{}, false
	}
	path, value := t.Field, m[1]+m[2]+m[3]
	if m[3] != "" {
		path += ".shape"
	}
	return edited(t.Hint, func(text *pbtxt.Editor) error { return text.Set(path, value) })
}

// version names the newest version in a step that names none.
func version(t target) (Fix, bool) {
	c, err := modelconfig.Parse(t.File, t.src)
	if err != nil || c.Has(t.Field) || !strings.HasSuffix(t.Field, ".model_version") {
		return Fix{}, false
	}
	step := strings.TrimSuffix(t.Field, ".model_version")
	return edited("write model_version: -1", func(text *pbtxt.Editor) error { return text.Insert(step, "model_version: -1") })
}

// parameter corrects the name of a parameter that the server refuses.
func parameter(t target) (Fix, bool) {
	m := meant.FindStringSubmatch(t.Hint)
	quoted, ok := strings.CutPrefix(t.Field, "parameters[")
	if m == nil || !ok {
		return Fix{}, false
	}
	wrong, err1 := strconv.Unquote(strings.TrimSuffix(quoted, "]"))
	right, err2 := strconv.Unquote(m[1])
	if err1 != nil || err2 != nil {
		return Fix{}, false
	}
	return Fix{Title: "write key: " + m[1], apply: func(src []byte) ([]byte, error) {
		return become(src, func(c *pb.ModelConfig) error {
			if c.Parameters[wrong] == nil || c.Parameters[right] != nil {
				return errNothing
			}
			c.Parameters[right] = c.Parameters[wrong]
			delete(c.Parameters, wrong)
			return nil
		})
	}}, true
}
