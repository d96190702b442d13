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

// accepted are the licenses under which parts may come with the program.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "MIT AND Apache-2.0"}

func checkLicenses(parts []component) error {
	var bad []string
	for _, c := range parts {
		if !slices.Contains(accepted, c.license) {
			bad = append(bad, fmt.Sprintf("%s %s: %s", c.name, c.version, orUnknown(c.license)))
		}
	}
	if bad != nil {
		return fmt.Errorf("licenses that are not accepted (deploy/sbom/license.go):\n  %s", strings.Join(bad, "\n  "))
	}
	return nil
}

func orUnknown(license string) string {
	if license == "" {
		return "NOASSERTION"
	}
	return license
}

// moduleLicense finds the license of a module in the module cache; empty if it is not known.
func moduleLicense(cache string, m *debug.Module) string {
	dir := filepath.Join(cache, escape(m.Path)+"@"+escape(m.Version))
	for _, pattern := range []string{"LICEN[CS]E*", "licen[cs]e*", "COPYING*", "UNLICENSE*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			if found := license(f); found != "" {
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

// license recognizes the text of a license by sentences that only it has.
func license(file string) string {
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
		return "" // or a choice between licenses, which a person must read
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
