package scaffold

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// ensembleOfTrees is what the file of an XGBoost or LightGBM model says about it.
type ensembleOfTrees struct {
	modelType, file  string // of the FIL backend
	features         int
	classes, targets int // classes is 0 for a regression
}

// treesDescriber returns the reader for the model of XGBoost or LightGBM in a file, by its first
// bytes; nil if it is another file. XGBoost's text and binary JSON have the extensions .json, .ubj
// and .model, LightGBM's text has any.
func treesDescriber(file string) (func(string) (*described, error), error) {
	f, err := modelconfig.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the reader of ONNX files reports it
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	text := string(head[:n])
	switch {
	case strings.HasPrefix(text, "tree\n") || strings.HasPrefix(text, "tree\r\n"):
		return describeTrees(readLightGBM), nil
	case strings.HasPrefix(text, "{L\x00"):
		return describeTrees(readXGBoostBinary), nil
	case filepath.Ext(file) == ".json" || strings.HasPrefix(strings.ReplaceAll(text, " ", ""), `{"learner"`):
		return describeTrees(readXGBoost), nil
	}
	return nil, nil
}

func describeTrees(read func(io.Reader) (ensembleOfTrees, error)) func(string) (*described, error) {
	return func(file string) (*described, error) {
		f, err := modelconfig.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		e, err := read(bufio.NewReaderSize(f, 64<<10))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		return e.describe(file), nil
	}
}

// describe returns the configuration in the conventions of NVIDIA's FIL backend: one input of all
// features, and as output the value, or the probabilities of the classes.
func (e ensembleOfTrees) describe(file string) *described {
	d := &described{
		backend:    "fil",
		inputs:     []namedTensor{{"input__0", inferencepb.DataType_TYPE_FP32, []int64{-1, int64(e.features)}, false}},
		parameters: map[string]string{"model_type": e.modelType},
		files:      []placement{{file, e.file}},
	}
	width := max(e.targets, 1)
	if e.classes > 0 {
		width = e.classes
		d.parameters["is_classifier"], d.parameters["predict_proba"] = "true", "true"
		d.notes = append(d.notes, `the output has a probability for each class; predict_proba "false" and dims [ 1 ] make it the number of the class`)
	}
	d.outputs = []namedTensor{{"output__0", inferencepb.DataType_TYPE_FP32, []int64{-1, int64(width)}, false}}
	return d
}

// xgboostModel has the parts of an XGBoost model that describe its tensors. Numbers are texts.
type xgboostModel struct {
	Learner struct {
		Parameters struct {
			Classes  string `json:"num_class"`
			Features string `json:"num_feature"`
			Targets  string `json:"num_target"`
		} `json:"learner_model_param"`
		Objective struct {
			Name string `json:"name"`
		} `json:"objective"`
	} `json:"learner"`
}

func readXGBoost(r io.Reader) (ensembleOfTrees, error) {
	var m xgboostModel
	if err := json.NewDecoder(r).Decode(&m); err != nil {
		return ensembleOfTrees{}, fmt.Errorf("the file is not a model of XGBoost: %w", err)
	}
	return m.trees("xgboost_json", "xgboost.json")
}

func readXGBoostBinary(r io.Reader) (ensembleOfTrees, error) {
	var m xgboostModel
	p, l := &m.Learner.Parameters, &m.Learner
	err := readUBJSON(r, map[string]*string{
		"learner/learner_model_param/num_class":   &p.Classes,
		"learner/learner_model_param/num_feature": &p.Features,
		"learner/learner_model_param/num_target":  &p.Targets,
		"learner/objective/name":                  &l.Objective.Name,
	})
	if err != nil {
		return ensembleOfTrees{}, fmt.Errorf("the file is not a model of XGBoost: %w", err)
	}
	return m.trees("xgboost_ubj", "xgboost.ubj")
}

func (m *xgboostModel) trees(modelType, file string) (ensembleOfTrees, error) {
	e := ensembleOfTrees{modelType: modelType, file: file}
	p := &m.Learner.Parameters
	for _, n := range []struct {
		name, text string
		to         *int
		least      int
	}{
		{"num_feature", p.Features, &e.features, 1}, {"num_class", p.Classes, &e.classes, 0}, {"num_target", p.Targets, &e.targets, 0},
	} {
		if n.text == "" && n.least == 0 {
			continue // older files
		}
		v, err := strconv.Atoi(n.text)
		if err != nil || v < n.least {
			return e, fmt.Errorf("the file is not a model of XGBoost: learner.learner_model_param.%s is %q", n.name, n.text)
		}
		*n.to = v
	}
	if o := m.Learner.Objective.Name; e.classes == 0 && o == "binary:logistic" {
		e.classes = 2
	}
	return e, nil
}

// readLightGBM reads the header of LightGBM's text format: lines key=value up to an empty one.
func readLightGBM(r io.Reader) (ensembleOfTrees, error) {
	e := ensembleOfTrees{modelType: "lightgbm", file: "model.txt", features: -1}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20) // the names of all features are one line
	objective := ""
	for lines.Scan() && lines.Text() != "" {
		key, value, _ := strings.Cut(strings.TrimSuffix(lines.Text(), "\r"), "=")
		var err error
		switch key {
		case "max_feature_idx":
			e.features, err = strconv.Atoi(value)
			e.features++
		case "num_class":
			e.classes, err = strconv.Atoi(value)
		case "objective":
			objective, _, _ = strings.Cut(value, " ")
		}
		if err != nil {
			return e, fmt.Errorf("%s is %q, not a number", key, value)
		}
	}
	if err := lines.Err(); err != nil {
		return e, err
	}
	if e.features < 1 {
		return e, errors.New("the file is not a model of LightGBM: its header has no max_feature_idx")
	}
	switch {
	case objective == "binary":
		e.classes = 2
	case e.classes < 2:
		e.classes = 0
	}
	return e, nil
}

// describeEstimator describes a pickle of scikit-learn, which cannot be read without running the
// code in it: the server completes the tensors when it loads the model.
func describeEstimator(file string) (*described, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	return &described{
		backend:    "sklearn",
		parameters: map[string]string{"model_type": "sklearn"},
		files:      []placement{{file, "model" + filepath.Ext(file)}},
		notes:      []string{"the file is not read, because loading it runs the code in it: the server completes the inputs and outputs when it loads the model"},
	}, nil
}
