package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const swagger = `{"definitions": {
  "v1.Claim": {"properties": {"size": {"$ref": "#/definitions/Quantity"}, "kind": {"type": "string"}}, "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Claim"}]},
  "v1.Options": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Options"}, {"group": "apps", "version": "v1", "kind": "Options"}]},
  "Quantity": {"description": "Quantity is a fixed-point representation of a number.", "type": "string"},
  "IntOrString": {"type": "string", "format": "int-or-string"}}}`

const crd = `kind: CustomResourceDefinition
spec:
  group: example.com
  names: { kind: Scaler }
  versions:
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { n: { x-kubernetes-int-or-string: true } } }
            free: { type: object, x-kubernetes-preserve-unknown-fields: true, properties: {} }
    - { name: v0, served: false, schema: { openAPIV3Schema: { type: object } } }
`

func TestSchemas(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(in, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	require.NoError(t, run([]string{"-output", out, file("swagger.json", swagger), file("crd.yaml", crd)}))
	for name, want := range map[string]string{
		"v1/claim_v1.json": `{"$schema": "http://json-schema.org/draft-07/schema#",
			"allOf": [{"$ref": "../definitions.json#/definitions/v1.Claim"}, {"required": ["apiVersion", "kind"]}]}`,
		"definitions.json": `{"definitions": {
			"v1.Claim": {"properties": {"size": {"$ref": "#/definitions/Quantity"}, "kind": {"type": "string"}}, "type": "object", "additionalProperties": false,
				"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Claim"}]},
			"v1.Options": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Options"}, {"group": "apps", "version": "v1", "kind": "Options"}]},
			"Quantity": {"description": "Quantity is a fixed-point representation of a number.", "type": ["string", "number"]},
			"IntOrString": {"type": ["string", "integer"]}}}`,
		"example.com/scaler_v1.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
			"required": ["apiVersion", "kind", "metadata"],
			"properties": {
				"metadata": {"$ref": "../definitions.json#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
				"spec": {"type": "object", "additionalProperties": false, "properties": {"n": {"type": ["string", "integer"], "x-kubernetes-int-or-string": true}}},
				"free": {"type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true}}}`,
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		require.JSONEq(t, want, string(text), name)
	}
	all, err := filepath.Glob(filepath.Join(out, "*", "*.json"))
	require.NoError(t, err)
	require.Len(t, all, 2, "neither types of calls nor versions that are not served")

	require.ErrorContains(t, run([]string{"-output", out, file("bad.json", "{"), file("crd.yaml", crd)}), "bad.json")
	require.ErrorContains(t, run([]string{"-output", out, file("swagger.json", swagger), file("none.yaml", "kind: Pod\n")}), "no CustomResourceDefinition")
}
