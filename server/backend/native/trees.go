package native

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
)

// trees is the native form of the backends "fil", "xgboost" and "lightgbm": forests of XGBoost,
// LightGBM and Treelite, predicted by their own libraries through their C APIs. Configurations and
// results are those of the form in Python (package python); estimators of scikit-learn have no other
// form.
type trees struct {
	name   string
	search Search
}

var _ Engine = (*trees)(nil)

// NewTrees returns the engine of the backend "fil", "xgboost" or "lightgbm".
func NewTrees(name string, search Search) Engine { return &trees{name, search} }

// treesKind is a library with the files that it reads.
type treesKind int

const (
	xgboost treesKind = iota // in the order of the C layer
	lightgbm
	treelite
)

var treesLibraries = [...]library{
	xgboost:  {Name: "XGBoost", Pattern: "libxgboost.so", Variable: "TRITON_XGBOOST_LIBRARY", Package: "xgboost", Inside: "xgboost/lib"},
	lightgbm: {Name: "LightGBM", Pattern: "lib_lightgbm.so", Variable: "TRITON_LIGHTGBM_LIBRARY", Package: "lightgbm", Inside: "lightgbm/lib"},
	treelite: {Name: "Treelite", Pattern: "libtreelite.so", Variable: "TRITON_TREELITE_LIBRARY", Package: "treelite", Inside: "treelite/lib"},
}

// treesFormat is a value of the parameter model_type.
type treesFormat struct {
	kind  treesKind
	files []string
}

var treesFormats = map[string]treesFormat{
	"xgboost_ubj":         {xgboost, []string{"xgboost.ubj"}},
	"xgboost_json":        {xgboost, []string{"xgboost.json"}},
	"xgboost":             {xgboost, []string{"xgboost.model"}},
	"lightgbm":            {lightgbm, []string{"model.txt"}},
	"treelite_checkpoint": {treelite, []string{"checkpoint.tl"}},
	"":                    {xgboost, []string{"xgboost.ubj", "xgboost.json", "xgboost.model"}},
}

// treesSettings are what a configuration says about the prediction.
type treesSettings struct {
	treesFormat
	threshold float64
	proba     bool
	threads   int
}

var (
	errTreesFormat = errors.New("its model_type is only known in Python")
	errTreesTypes  = errors.New("it has other tensors than one input of TYPE_FP32 and one output of TYPE_FP32, TYPE_FP64, TYPE_INT32 or TYPE_INT64")
)

// Ready opens the library of the model.
func (e *trees) Ready(c *inferencepb.ModelConfig, pairs map[string]string) error {
	f, err := e.format(c)
	if err != nil {
		return err
	}
	if err := checkTreesTypes(c); err != nil {
		return err
	}
	return e.open(f.kind, pairs)
}

func (e *trees) format(c *inferencepb.ModelConfig) (treesFormat, error) {
	name := parameter(c, "model_type")
	if name == "" && e.name == "lightgbm" {
		name = e.name
	}
	f, ok := treesFormats[name]
	if !ok {
		return f, errTreesFormat
	}
	return f, nil
}

// checkTreesTypes checks the tensors that the configuration lists.
func checkTreesTypes(c *inferencepb.ModelConfig) error {
	for _, in := range c.GetInput() {
		if in.GetDataType() != inferencepb.DataType_TYPE_FP32 {
			return errTreesTypes
		}
	}
	for _, out := range c.GetOutput() {
		if !slices.Contains(treesOutputTypes, tensor.DataType(out.GetDataType())) {
			return errTreesTypes
		}
	}
	if len(c.GetInput()) > 1 || len(c.GetOutput()) > 1 {
		return errTreesTypes
	}
	return nil
}

func (e *trees) settings(c *inferencepb.ModelConfig) (s treesSettings, err error) {
	if s.treesFormat, err = e.format(c); err != nil {
		return s, status.New(status.Unsupported, "model '%s': %w", c.GetName(), err)
	}
	s.proba, s.threshold = flagParameter(c, "predict_proba"), 0.5
	if text := parameter(c, "threshold"); text != "" {
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
	text := parameter(c, key)
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
func (e *trees) classifies(c *inferencepb.ModelConfig, model bool) bool {
	for _, key := range []string{"is_classifier", "output_class"} {
		if parameter(c, key) != "" {
			return flagParameter(c, key)
		}
	}
	return model && e.name != "fil"
}

// complete adds the tensors of a forest to a configuration.
func (e *trees) complete(spec backend.Spec, s treesSettings, about forestTraits) error {
	width := int64(1)
	if s.proba || !e.classifies(spec.Config, about.classifier) {
		width = int64(max(about.classes, 1))
	}
	return completeConfig(spec,
		[]modelTensor{{Name: "input__0", DataType: tensor.FP32, Dims: tensor.Shape{-1, int64(about.features)}}},
		[]modelTensor{{Name: "output__0", DataType: tensor.FP32, Dims: tensor.Shape{-1, width}}})
}

// fail adds what was being done to the text of a library.
func (k treesKind) fail(doing, text string) error {
	return status.New(status.Internal, "%s: %s", fmt.Sprintf("%s %s", treesLibraries[k].Name, doing), text)
}
