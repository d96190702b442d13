// Command schemas writes the JSON schemas by which kubeconform checks manifests.
//
//	schemas -output FOLDER SWAGGER [CRD]...
//
// SWAGGER is Kubernetes' api/openapi-spec/swagger.json. CRDs are files with
// CustomResourceDefinitions, as YAML. The schema of a kind is FOLDER/<group>/<kind>_<version>.json,
// in lower case; a kind without a group has its version in that place. Fields that a type does not have are
// refused, as by the API server with strict field validation.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("schemas", flag.ContinueOnError)
	output := fs.String("output", "", "the folder to write into")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *output == "" || fs.NArg() == 0 {
		return errors.New("usage: schemas -output FOLDER SWAGGER [CRD]")
	}
	text, err := os.ReadFile(fs.Arg(0))
	if err != nil {
		return err
	}
	if err := writeBuiltin(*output, text); err != nil {
		return fmt.Errorf("%s: %w", fs.Arg(0), err)
	}
	for _, file := range fs.Args()[1:] {
		text, err := os.ReadFile(file)
		if err == nil {
			err = writeCustom(*output, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// object is a JSON schema or another object of JSON.
type object = map[string]any

// writeBuiltin writes the schemas of the kinds that have a group, a kind and a version in Kubernetes' own
// definitions. Each refers to one file with all definitions.
func writeBuiltin(folder string, text []byte) error {
	var spec struct {
		Definitions map[string]object `json:"definitions"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	for name, definition := range spec.Definitions {
		strict(definition)
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 { // several: types of API calls, such as DeleteOptions
			continue
		}
		k, _ := kinds[0].(object)
		group, version, kind := str(k["group"]), str(k["version"]), str(k["kind"])
		// Only a whole object needs both: a claim inside a StatefulSet, which is the same definition, does not.
		schema := object{"allOf": []any{
			object{"$ref": "../definitions.json#/definitions/" + name},
			object{"required": []any{"apiVersion", "kind"}},
		}}
		if err := write(folder, group, kind, version, schema); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(folder, "definitions.json"), object{"definitions": spec.Definitions})
}

// writeCustom writes the schemas of all served versions.
func writeCustom(folder string, text []byte) error {
	found := false
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var crd struct {
			Kind string
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Served bool
					Schema struct {
						OpenAPIV3Schema object `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		err := d.Decode(&crd)
		switch {
		case errors.Is(err, io.EOF) && !found:
			return errors.New("no CustomResourceDefinition")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case crd.Kind != "CustomResourceDefinition":
			continue
		}
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			found = true
			schema := v.Schema.OpenAPIV3Schema
			strict(schema)
			schema["required"] = append(list(schema["required"]), "apiVersion", "kind", "metadata")
			if properties, ok := schema["properties"].(object); ok {
				properties["metadata"] = object{"$ref": "../definitions.json#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
			}
			if err := write(folder, crd.Spec.Group, crd.Spec.Names.Kind, v.Name, schema); err != nil {
				return err
			}
		}
	}
}

// strict makes a schema of OpenAPI one of JSON Schema that refuses unknown fields, and takes numbers
// where Kubernetes takes both numbers and text.
func strict(schema object) {
	format := str(schema["format"])
	if either, _ := schema["x-kubernetes-int-or-string"].(bool); either || format == "int-or-string" {
		schema["type"] = []any{"string", "integer"}
		delete(schema, "format")
	}
	if strings.Contains(str(schema["description"]), "Quantity is a fixed-point") {
		schema["type"] = []any{"string", "number"}
	}
	if nullable, _ := schema["nullable"].(bool); nullable {
		if kind := str(schema["type"]); kind != "" {
			schema["type"] = []any{kind, "null"}
		}
	}
	open, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool)
	_, has := schema["additionalProperties"]
	if _, ok := schema["properties"]; ok && !open && !has {
		schema["additionalProperties"] = false
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(object); ok {
			strict(inner)
		}
	}
	if properties, ok := schema["properties"].(object); ok {
		for _, p := range properties {
			if inner, ok := p.(object); ok {
				strict(inner)
			}
		}
	}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func write(folder, group, kind, version string, schema object) error {
	if group == "" {
		group = version // as kubeconform reads `apiVersion: v1`
	}
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	return writeJSON(filepath.Join(folder, group, strings.ToLower(kind)+"_"+version+".json"), schema)
}

func writeJSON(file string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
