package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// generate writes the documents of the program that runs this test, with a library.
func generate(t *testing.T) map[string][]byte {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	native := filepath.Join(dir, "libnative.so")
	require.NoError(t, os.WriteFile(native, []byte("abc"), 0o600))
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.8", Path: "triton/cmd/triton", Deps: []*debug.Module{
		{Path: "github.com/stretchr/testify", Version: "v1.12.1", Sum: "h1:x"},
		{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "go.uber.org/goleak", Version: "v1.3.0"}},
	}}
	p, err := describe(self, info, "", []string{"native,3.4,MIT," + native})
	require.NoError(t, err)
	p.version, p.created = "1.2", time.Unix(1700000000, 0).UTC()
	documents := map[string][]byte{}
	for name, document := range writers {
		require.NoError(t, save(filepath.Join(dir, name), document(p)))
		documents[name], err = os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	return documents
}

const sumOfABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestDocuments(t *testing.T) {
	t.Parallel()
	d := generate(t)
	require.Equal(t, d, generate(t), "the same program gives the same documents")
	for _, name := range []string{"spdx", "cyclonedx"} {
		require.Contains(t, string(d[name]), "pkg:golang/github.com/stretchr/testify@v1.12.1", name)
		require.Contains(t, string(d[name]), "pkg:golang/go.uber.org/goleak@v1.3.0", name)
		require.NotContains(t, string(d[name]), "example.com", name)
		require.Contains(t, string(d[name]), "pkg:generic/native@3.4", name)
		require.Contains(t, string(d[name]), sumOfABC, name)
		require.Contains(t, string(d[name]), "2023-11-14T22:13:20Z", name)
	}
	var spdx struct {
		Packages []struct {
			SPDXID, Name, LicenseDeclared string
		}
		Relationships []struct{ SpdxElementID, RelatedSpdxElement string }
	}
	require.NoError(t, json.Unmarshal(d["spdx"], &spdx))
	require.Len(t, spdx.Relationships, len(spdx.Packages))
	ids := map[string]bool{}
	for _, p := range spdx.Packages {
		require.False(t, ids[p.SPDXID], "twice: %s", p.SPDXID)
		ids[p.SPDXID] = true
		require.NotEqual(t, "NOASSERTION", p.LicenseDeclared, p.Name)
	}
	for _, r := range spdx.Relationships {
		require.True(t, ids[r.RelatedSpdxElement])
	}
	var statement struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(d["provenance"], &statement))
	require.Equal(t, "https://in-toto.io/Statement/v1", statement.Type)
	self, err := os.Executable()
	require.NoError(t, err)
	sum, err := hash(self)
	require.NoError(t, err)
	require.Equal(t, sum, statement.Subject[0].Digest["sha256"])
}

func TestLicense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                "Apache-2.0",
		"Permission is hereby granted, free of\ncharge, to any person":                "MIT",
		"Permission is hereby granted, free of charge. Apache License, Version 2.0":   "MIT AND Apache-2.0",
		"Redistributions of source code must retain the ... Neither the name of":      "BSD-3-Clause",
		"Redistributions of source code must retain the above copyright":              "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute this software":            "ISC",
		"Mozilla Public License Version 2.0":                                          "MPL-2.0",
		"GNU General Public License, or Permission is hereby granted, free of charge": "",
		"All rights reserved": "",
	} {
		file := filepath.Join(t.TempDir(), "LICENSE")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Equal(t, want, license(file), text)
	}
	require.Empty(t, license(filepath.Join(t.TempDir(), "none")))
	require.NoError(t, checkLicenses([]component{{name: "a", license: "MIT"}}))
	err := checkLicenses([]component{{name: "a", license: "MIT"}, {name: "b", version: "v1", license: "GPL-3.0-only"}, {name: "c", version: "v2"}})
	require.ErrorContains(t, err, "b v1: GPL-3.0-only\n  c v2: NOASSERTION")
	require.Equal(t, "github.com/!azure/x", escape("github.com/Azure/x"))
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for want, args := range map[string][]string{
		"usage":        nil,
		"no such file": {filepath.Join(t.TempDir(), "none")},
		"is not NAME,": {"-library", "x", self},
	} {
		require.ErrorContains(t, run(args), want, strings.Join(args, " "))
	}
}
