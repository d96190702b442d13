package lint

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
)

// treeFiles are the possible names of the model file of XGBoost, LightGBM and scikit-learn
// models, by model_type.
var treeFiles = map[string][]string{
	"":                    {"xgboost.ubj", "xgboost.json", "xgboost.model"},
	"xgboost_ubj":         {"xgboost.ubj"},
	"xgboost_json":        {"xgboost.json"},
	"xgboost":             {"xgboost.model"},
	"lightgbm":            {"model.txt"},
	"treelite_checkpoint": {"checkpoint.tl"},
	"sklearn":             {"model.joblib", "model.pkl"},
}

// treeModelFiles returns the possible names of the model file, of which one must exist; nil for
// other backends.
func treeModelFiles(c *inferencepb.ModelConfig) []string {
	kind := c.GetParameters()["model_type"].GetStringValue()
	switch c.Backend {
	case "fil", "xgboost":
	case "lightgbm", "sklearn":
		kind = cmp.Or(kind, c.Backend)
	default:
		return nil
	}
	if c.DefaultModelFilename != "" {
		return []string{c.DefaultModelFilename}
	}
	return treeFiles[kind]
}

// trees checks that XGBoost, LightGBM and scikit-learn models have a model file.
func (r *run) trees() {
	files := treeModelFiles(r.config.ModelConfig)
	if r.ConfigOnly || files == nil {
		return
	}
	for _, v := range r.served {
		found := false
		for _, file := range files {
			if path := filepath.Join(v.path, file); isPointer(path) {
				found = true
				r.modelFile(path)
			} else if _, err := os.Stat(path); err == nil {
				found = true
			}
		}
		if !found {
			r.lacksWeights(ruleModelFile, v.path, "the model file is missing: "+strings.Join(files, " or "), "put it there, or name another with default_model_filename")
		}
	}
}
