package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/repo"
)

// parse reads the configuration, if the model has one.
func (r *run) parse() bool {
	src, err := r.ReadConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.written = modelconfig.New(r.ConfigFile, &inferencepb.ModelConfig{})
	case errors.Is(err, repo.ErrNoFile):
		r.addFile(ruleUnreadable, r.ConfigFile, err.Error(), "make it a file")
		return false
	case err != nil:
		r.addFile(ruleUnreadable, r.ConfigFile, err.Error(), "give the server's user the right to read it")
		return false
	default:
		c, err := modelconfig.Parse(r.ConfigFile, src)
		if err != nil {
			r.syntax(err)
			return false
		}
		r.written = c
		r.notUTF8(src)
	}
	r.config = modelconfig.New(r.ConfigFile, proto.Clone(r.written.ModelConfig).(*inferencepb.ModelConfig))
	return true
}

// notUTF8 reports the first byte that is not UTF-8.
func (r *run) notUTF8(src []byte) {
	at := 0
	for at < len(src) {
		c, n := utf8.DecodeRune(src[at:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	if at == len(src) {
		return
	}
	before := src[:at]
	r.found = append(r.found, repo.Finding{
		Rule: ruleUTF8.ID, Severity: ruleUTF8.Severity, Model: r.Name, File: r.ConfigFile,
		Line: bytes.Count(before, []byte("\n")) + 1, Col: at - bytes.LastIndexByte(before, '\n'),
		Msg: fmt.Sprintf("the byte 0x%02x is not UTF-8: in a string it becomes U+FFFD", src[at]), Hint: "save the file as UTF-8",
	})
}

// maxMistakes is how many mistakes of one text are listed.
const maxMistakes = 20

// syntax reports the mistakes for which a text cannot be read.
func (r *run) syntax(err error) {
	var mistakes modelconfig.SyntaxErrors
	if !errors.As(err, &mistakes) {
		r.addFile(ruleSyntax, r.ConfigFile, err.Error(), "")
		return
	}
	listed := mistakes
	if !r.options.AllMistakes {
		listed = mistakes[:min(len(mistakes), maxMistakes)]
	}
	for _, e := range listed {
		r.found = append(r.found, repo.Finding{
			Rule: ruleSyntax.ID, Severity: ruleSyntax.Severity, Model: r.Name,
			File: r.ConfigFile, Line: e.Pos.Line, Col: e.Pos.Col, Msg: e.Msg, Hint: e.Hint,
		})
	}
	if len(listed) < len(mistakes) {
		next := mistakes[len(listed)]
		r.found = append(r.found, repo.Finding{
			Rule: ruleSyntax.ID, Severity: ruleSyntax.Severity, Model: r.Name, File: r.ConfigFile, Line: next.Pos.Line, Col: next.Pos.Col,
			Msg: fmt.Sprintf("more mistakes from here on: %d", len(mistakes)-len(listed)), Hint: "correct those above first",
		})
	}
}

func (r *run) name() {
	if r.ConfigOnly || r.config.Name == "" {
		return
	}
	if err := r.config.CheckName(r.Name); err != nil {
		r.add(ruleName, "name", err.Error(), fmt.Sprintf("write name: %q, remove the line, or rename the directory", r.Name))
	}
}

// detect finds the backend, as a load does. It reports false if the backend is not known; then the
// rest of the configuration is checked.
func (r *run) detect() bool {
	err := r.config.Detect(r.Name, r.FS())
	switch {
	case err == nil:
		return true
	case r.ConfigOnly: // the model's files are elsewhere and may determine it
	case errors.Is(err, fs.ErrPermission):
		r.addFile(ruleUnreadable, r.Dir, err.Error(), "give the server's user the right to read it")
	case len(r.served) == 0 || r.weightless: // the missing version or model file is the cause
	case r.options.NoWeights && r.stray() == "" && r.foreign() == "":
		r.weightless = true // the model file determines it
	default:
		hint := `put the model file into the version directory, or write backend: "onnxruntime" or the like`
		if file := r.stray(); file != "" {
			hint = fmt.Sprintf("move %s into the version directory", file)
		} else if foreign := r.foreign(); foreign != "" {
			hint = foreign
		}
		r.add(ruleNoBackend, "backend", err.Error(), hint)
	}
	return false
}
