// Package trees is the native form of the backends "fil", "xgboost" and "lightgbm": forests
// of XGBoost, LightGBM and Treelite, predicted by their own libraries through their C APIs.
// Configurations and results are those of the form in Python (package python); estimators of
// scikit-learn have no other form.
package trees

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/native"
)

// Engine loads forests for the backend of its name.
type Engine struct {
	name   string
	search native.Search
}

var _ native.Engine = (*Engine)(nil)

// New returns the engine of the backend "fil", "xgboost" or "lightgbm".
func New(name string, search native.Search) *Engine { return &Engine{name, search} }

// kind is a library with the files that it reads.
type kind int

const (
	xgboost kind = iota // in the order of the C layer
	lightgbm
	treelite
)

var libraries = [...]native.Library{
	xgboost:  {Name: "XGBoost", Pattern: "libxgboost.so", Variable: "TRITON_XGBOOST_LIBRARY", Package: "xgboost", Inside: "xgboost/lib"},
	lightgbm: {Name: "LightGBM", Pattern: "lib_lightgbm.so", Variable: "TRITON_LIGHTGBM_LIBRARY", Package: "lightgbm", Inside: "lightgbm/lib"},
	treelite: {Name: "Treelite", Pattern: "libtreelite.so", Variable: "TRITON_TREELITE_LIBRARY", Package: "treelite", Inside: "treelite/lib"},
}

// format is a value of the parameter model_type.
type format struct {
	kind  kind
	files []string
}

var formats = map[string]format{
	"xgboost_ubj":         {xgboost, []string{"xgboost.ubj"}},
	"xgboost_json":        {xgboost, []string{"xgboost.json"}},
	"xgboost":             {xgboost, []string{"xgboost.model"}},
	"lightgbm":            {lightgbm, []string{"model.txt"}},
	"treelite_checkpoint": {treelite, []string{"checkpoint.tl"}},
	"":                    {xgboost, []string{"xgboost.ubj", "xgboost.json", "xgboost.model"}},
}

// settings are what a configuration says about the prediction.
type settings struct {
	format
	threshold float64
	proba     bool
	threads   int
}

var (
	errFormat = errors.New("its model_type is only known in Python")
	errTypes  = errors.New("it has other tensors than one input of TYPE_FP32 and one output of TYPE_FP32, TYPE_FP64, TYPE_INT32 or TYPE_INT64")
)

// Ready opens the library of the model.
func (e *Engine) Ready(c *inferencepb.ModelConfig, pairs map[string]string) error {
	f, err := e.format(c)
	if err != nil {
		return err
	}
	if err := checkTypes(c); err != nil {
		return err
	}
	return e.open(f.kind, pairs)
}

func (e *Engine) format(c *inferencepb.ModelConfig) (format, error) {
	name := native.Parameter(c, "model_type")
	if name == "" && e.name == "lightgbm" {
		name = e.name
	}
	f, ok := formats[name]
	if !ok {
		return f, errFormat
	}
	return f, nil
}

// checkTypes checks the tensors that the configuration lists.
func checkTypes(c *inferencepb.ModelConfig) error {
	for _, in := range c.GetInput() {
		if in.GetDataType() != inferencepb.DataType_TYPE_FP32 {
			return errTypes
		}
	}
	for _, out := range c.GetOutput() {
		if !slices.Contains(outputTypes, tensor.DataType(out.GetDataType())) {
			return errTypes
		}
	}
	if len(c.GetInput()) > 1 || len(c.GetOutput()) > 1 {
		return errTypes
	}
	return nil
}

func (e *Engine) settings(c *inferencepb.ModelConfig) (s settings, err error) {
	if s.format, err = e.format(c); err != nil {
		return s, status.New(status.Unsupported, "model '%s': %w", c.GetName(), err)
	}
	s.proba, s.threshold = native.Flag(c, "predict_proba"), 0.5
	if text := native.Parameter(c, "threshold"); text != "" {
		if s.threshold, err = strconv.ParseFloat(text, 64); err != nil {
			return s, status.New(status.InvalidArg, "parameter threshold: '%s' is not a number", text)
		}
	}
	s.threads, err = count(c, "nthread")
	s.threads = max(s.threads, 1)
	return s, err
}

// count returns a parameter that is a number from 1; 0 if it is not set.
func count(c *inferencepb.ModelConfig, key string) (int, error) {
	text := native.Parameter(c, key)
	if text == "" {
		return 0, nil
	}
	n, err := requirement.ParseInteger(text)
	if err == nil && n < 1 {
		err = status.New(status.InvalidArg, "use a number from 1")
	}
	if err != nil {
		return 0, status.New(status.InvalidArg, "parameter %s of model '%s': '%s': %w", key, c.GetName(), text, err)
	}
	return n, nil
}

// classifies reports whether the results are classes: as the configuration says, else as
// the model is.
func (e *Engine) classifies(c *inferencepb.ModelConfig, model bool) bool {
	for _, key := range []string{"is_classifier", "output_class"} {
		if native.Parameter(c, key) != "" {
			return native.Flag(c, key)
		}
	}
	return model && e.name != "fil"
}

// complete adds the tensors of a forest to a configuration.
func (e *Engine) complete(spec backend.Spec, s settings, about traits) error {
	width := int64(1)
	if s.proba || !e.classifies(spec.Config, about.classifier) {
		width = int64(max(about.classes, 1))
	}
	return native.Complete(spec,
		[]native.Tensor{{Name: "input__0", DataType: tensor.FP32, Dims: tensor.Shape{-1, int64(about.features)}}},
		[]native.Tensor{{Name: "output__0", DataType: tensor.FP32, Dims: tensor.Shape{-1, width}}})
}

// fail adds what was being done to the text of a library.
func (k kind) fail(doing, text string) error {
	return status.New(status.Internal, "%s: %s", fmt.Sprintf("%s %s", libraries[k].Name, doing), text)
}
