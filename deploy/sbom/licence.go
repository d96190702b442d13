package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// accepted are the licences under which parts may come with the program.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "MIT AND Apache-2.0"}

func checkLicences(parts []component) error {
	var bad []string
	for _, c := range parts {
		if !slices.Contains(accepted, c.licence) {
			bad = append(bad, fmt.Sprintf("%s %s: %s", c.name, c.version, orUnknown(c.licence)))
		}
	}
	if bad != nil {
		return fmt.Errorf("licences that are not accepted (deploy/sbom/licence.go):\n  %s", strings.Join(bad, "\n  "))
	}
	return nil
}

func orUnknown(licence string) string {
	if licence == "" {
		return "NOASSERTION"
	}
	return licence
}

// moduleLicence finds the licence of a module in the module cache; empty if it is not known.
func moduleLicence(cache string, m *debug.Module) string {
	dir := filepath.Join(cache, escape(m.Path)+"@"+escape(m.Version))
	for _, pattern := range []string{"LICEN[CS]E*", "licen[cs]e*", "COPYING*", "UNLICENSE*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			if found := licence(f); found != "" {
				return found
			}
		}
	}
	return ""
}

// escape writes capital letters as the module cache does.
func escape(path string) string {
	var b strings.Builder
	for _, r := range path {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

var blanks = regexp.MustCompile(`\s+`)

// licence recognizes the text of a licence by sentences that only it has.
func licence(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	text := strings.ToLower(blanks.ReplaceAllString(string(content), " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	mit := has("permission is hereby granted, free of charge")
	apache := has("apache license") && has("version 2.0")
	switch {
	case has("gnu general public") || has("gnu affero") || has("gnu lesser"):
		return "" // or a choice between licences, which a person must read
	case mit && apache:
		return "MIT AND Apache-2.0"
	case apache:
		return "Apache-2.0"
	case mit:
		return "MIT"
	case has("mozilla public license") && has("version 2.0"):
		return "MPL-2.0"
	case has("redistributions of source code must retain"):
		if has("neither the name") || has("names of its contributors") || has("name of the author may not") {
			return "BSD-3-Clause"
		}
		return "BSD-2-Clause"
	case has("permission to use, copy, modify, and/or distribute") || has("permission to use, copy, modify, and distribute"):
		return "ISC"
	}
	return ""
}
