// Command sbom writes the bill of materials of a program from what the Go toolchain recorded in
// it: sbom -spdx FILE -cyclonedx FILE -provenance FILE PROGRAM. With -check it only fails if a
// module has a license that is not accepted.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// component is a part of the program.
type component struct {
	name, version, purl string
	license             string // an SPDX expression; empty: unknown
	sha256              string // of a library; empty for modules
}

// program is what the documents describe.
type program struct {
	name, version string
	sha256        string
	created       time.Time
	build         *buildinfo.BuildInfo
	parts         []component
}

func run(args []string) error {
	fs := flag.NewFlagSet("sbom", flag.ContinueOnError)
	outputs := map[string]*string{}
	for name := range writers {
		outputs[name] = fs.String(name, "", "the file to write")
	}
	version := fs.String("version", "devel", "the version of the program")
	epoch := fs.Int64("epoch", 0, "the time of the documents, in seconds (SOURCE_DATE_EPOCH)")
	modules := fs.String("modules", "", "the module cache, for licenses (go env GOMODCACHE)")
	check := fs.Bool("check", false, "fail if a license is unknown or not accepted")
	var libraries []string
	fs.Func("library", "a library that comes with the program: NAME,VERSION,LICENSE,FILE", func(s string) error {
		libraries = append(libraries, s)
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return errors.New("usage: sbom [options] PROGRAM")
	}
	p, err := read(fs.Arg(0), *modules, libraries)
	if err != nil {
		return err
	}
	p.version, p.created = *version, time.Unix(*epoch, 0).UTC()
	if *check {
		return checkLicenses(p.parts)
	}
	for _, name := range slices.Sorted(maps.Keys(writers)) {
		if err := save(*outputs[name], writers[name](p)); err != nil {
			return err
		}
	}
	return nil
}

// writers are the documents by flag.
var writers = map[string]func(*program) any{"spdx": spdx, "cyclonedx": cyclonedx, "provenance": provenance}

func save(name string, document any) error {
	if name == "" {
		return nil
	}
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

func read(name, cache string, libraries []string) (*program, error) {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return describe(name, info, cache, libraries)
}

// describe returns the program in a file, with what the toolchain recorded in it.
func describe(name string, info *buildinfo.BuildInfo, cache string, libraries []string) (p *program, err error) {
	if cache == "" {
		out, err := exec.Command("go", "env", "GOMODCACHE").Output()
		if err != nil {
			return nil, fmt.Errorf("go env GOMODCACHE: %w", err)
		}
		cache = strings.TrimSpace(string(out))
	}
	p = &program{name: filepath.Base(name), build: info}
	if p.sha256, err = hash(name); err != nil {
		return nil, err
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	p.parts = append(p.parts, component{name: "stdlib", version: goVersion, purl: "pkg:golang/stdlib@" + goVersion, license: "BSD-3-Clause"})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p.parts = append(p.parts, component{name: m.Path, version: m.Version, purl: "pkg:golang/" + m.Path + "@" + m.Version, license: moduleLicense(cache, m)})
	}
	for _, l := range libraries {
		c, err := library(l)
		if err != nil {
			return nil, err
		}
		p.parts = append(p.parts, c)
	}
	return p, nil
}

func library(text string) (component, error) {
	f := strings.SplitN(text, ",", 4)
	if len(f) != 4 {
		return component{}, fmt.Errorf("library %q is not NAME,VERSION,LICENSE,FILE", text)
	}
	sum, err := hash(f[3])
	return component{name: f[0], version: f[1], purl: "pkg:generic/" + f[0] + "@" + f[1], license: f[2], sha256: sum}, err
}

func hash(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
