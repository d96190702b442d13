package flags

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// file is what a configuration file says: values by key in lower case. The key of a nested
// value has its parents before it, with dots between.
type file map[string]any

// readFile reads a file whose extension names its format.
func readFile(name string) (file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var decode func([]byte, any) error
	switch extension := strings.ToLower(filepath.Ext(name)); extension {
	case ".yaml", ".yml":
		decode = yaml.Unmarshal
	case ".json":
		decode = json.Unmarshal
	case ".toml":
		decode = toml.Unmarshal
	default:
		return nil, fmt.Errorf("%s: the format %q is not known; the name must end in .yaml, .yml, .json or .toml", name, extension)
	}
	values := map[string]any{}
	if err := decode(text, &values); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	flat := file{}
	flat.add("", values)
	return flat, nil
}

func (f file) add(parents string, values map[string]any) {
	for key, value := range values {
		key = parents + strings.ToLower(key)
		if nested, ok := value.(map[string]any); ok && len(nested) > 0 {
			f.add(key+".", nested)
			continue
		}
		f[key] = value
	}
}

// texts returns the values of a key as a command line has them: each element of a list is
// one value.
func (f file) texts(key string) []string {
	switch value := f[key].(type) {
	case nil:
		return nil
	case []any:
		all := make([]string, len(value))
		for i, v := range value {
			all[i] = valueText(v)
		}
		return all
	default:
		return []string{valueText(value)}
	}
}

func valueText(value any) string {
	if number, ok := value.(float64); ok { // that of JSON is never an integer
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
