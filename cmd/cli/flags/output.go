package flags

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// Form is the form of a result.
type Form struct {
	Name       string   // the value of --output
	Extensions []string // of the names of files in this form
}

// The forms that all commands have.
var (
	TextForm     = Form{"text", []string{".txt"}}
	JSONForm     = Form{"json", []string{".json"}}
	CSVForm      = Form{"csv", []string{".csv"}}
	MarkdownForm = Form{"markdown", []string{".md", ".markdown"}}
	HTMLForm     = Form{"html", []string{".html", ".htm"}}
)

// Forms returns the forms that all commands have.
func Forms() []Form { return []Form{TextForm, JSONForm, CSVForm, MarkdownForm, HTMLForm} }

// FormNames joins the names of forms with a separator.
func FormNames(forms []Form, separator string) string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.Name
	}
	return strings.Join(names, separator)
}

// OutputUsage is the help text of --output, and FileUsage that of -o, without the default.
const (
	OutputUsage = "form of the result on standard output, or of the file of -o"
	FileUsage   = "write the result to this file; its extension is the form unless --output is given; may be repeated"
)

// Output are the values of --output and -o. Zero values are the defaults.
type Output struct {
	// Form is the value of --output: the name of a form, or a file as in Files.
	Form  string
	Files []string // "-" is standard output
}

// Bind adds the options to the flags of a command.
func (o *Output) Bind(f *Set, forms []Form) {
	f.StringVar(&o.Form, "output", "", OutputUsage+": "+FormNames(forms, ", "))
	f.StringArrayVarP(&o.Files, "output-file", "o", nil, FileUsage)
}

// OutputTarget is a place that the result is written to.
type OutputTarget struct {
	Form string
	File string // "-" is standard output
}

// OutputTargets are the places that the options name; none means that the command prints text.
type OutputTargets []OutputTarget

// Targets returns the places that the options name.
func (o *Output) Targets(forms []Form) (OutputTargets, error) {
	form, files := o.Form, slices.Clone(o.Files)
	if form != "" && !known(forms, form) {
		if !strings.ContainsAny(form, `./\`) && form != "-" {
			return nil, fmt.Errorf("--output: unknown form %q: use one of %s, or -o for a file%s", form, FormNames(forms, ", "), hint(forms, form))
		}
		form, files = "", append(files, form) // a file
	}
	if len(files) == 0 && form != "" {
		return OutputTargets{{form, "-"}}, nil
	}
	if form != "" && len(files) > 1 {
		return nil, errors.New("--output names one form, but -o is given several times: leave it out, the extensions name the forms")
	}
	var all OutputTargets
	for _, file := range files {
		t := OutputTarget{form, file}
		t.Form = cmp.Or(t.Form, FormOf(forms, file))
		switch {
		case t.File == "":
			return nil, errors.New("-o: the name of the file is empty")
		case t.Form == "":
			return nil, fmt.Errorf("-o %s: the extension names none of the forms %s: add --output", file, FormNames(forms, ", "))
		case slices.ContainsFunc(all, func(u OutputTarget) bool { return u.File == file }):
			return nil, fmt.Errorf("-o %s: the file is named twice", file)
		}
		all = append(all, t)
	}
	return all, nil
}

func known(forms []Form, name string) bool {
	return slices.ContainsFunc(forms, func(f Form) bool { return f.Name == name })
}

func hint(forms []Form, name string) string {
	if near := Closest(name, strings.Fields(FormNames(forms, " "))); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// FormOf returns the name of the form of a file by its extension; empty if no form has it.
func FormOf(forms []Form, file string) string {
	if file == "-" {
		return TextForm.Name
	}
	for _, f := range forms {
		if slices.Contains(f.Extensions, strings.ToLower(filepath.Ext(file))) {
			return f.Name
		}
	}
	return ""
}

// Stdout reports whether a target is standard output: then nothing else is written there.
func (t OutputTargets) Stdout() bool {
	return slices.ContainsFunc(t, func(t OutputTarget) bool { return t.File == "-" })
}

// Check returns an error if a file cannot be written.
func (t OutputTargets) Check() error {
	var errs []error
	for _, target := range t {
		if target.File != "-" {
			errs = append(errs, process.CheckWritable(target.File))
		}
	}
	return errors.Join(errs...)
}

// Write writes the result to all targets.
func (t OutputTargets) Write(p process.Process, write func(w io.Writer, form string) error) error {
	var errs []error
	for _, target := range t {
		if target.File == "-" {
			errs = append(errs, write(p.Stdout, target.Form))
			continue
		}
		if err := process.WriteFile(target.File, func(w io.Writer) error { return write(w, target.Form) }); err != nil {
			errs = append(errs, fmt.Errorf("write the result: %w", err))
		}
	}
	return errors.Join(errs...)
}

// WriteDocument writes a document as Markdown or HTML, in any other form as text.
func WriteDocument(w io.Writer, form string, d ui.Document) error {
	switch form {
	case MarkdownForm.Name:
		return ui.WriteMarkdown(w, d)
	case HTMLForm.Name:
		return ui.WriteHTML(w, d)
	}
	return ui.WriteText(w, d)
}

// WriteJSON writes a value as JSON for people and programs.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
