package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

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
	case errors.Is(err, syscall.EISDIR):
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
	}
	r.config = modelconfig.New(r.ConfigFile, proto.Clone(r.written.ModelConfig).(*inferencepb.ModelConfig))
	return true
}

func (r *run) syntax(err error) {
	var mistakes modelconfig.SyntaxErrors
	if !errors.As(err, &mistakes) {
		r.addFile(ruleSyntax, r.ConfigFile, err.Error(), "")
		return
	}
	for _, e := range mistakes {
		r.found = append(r.found, repo.Finding{
			Rule: ruleSyntax.ID, Severity: ruleSyntax.Severity, Model: r.Name,
			File: r.ConfigFile, Line: e.Pos.Line, Col: e.Pos.Col, Msg: e.Msg, Hint: e.Hint,
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

// detect finds the backend, as a load does.
func (r *run) detect() bool {
	err := r.config.Detect(r.Name, r.FS())
	if err == nil {
		return true
	}
	if r.ConfigOnly { // the model's files are elsewhere and may determine it
		r.addAll(r.config.ValidateIO())
		return false
	}
	if errors.Is(err, fs.ErrPermission) {
		r.addFile(ruleUnreadable, r.Dir, err.Error(), "give the server's user the right to read it")
		return false
	}
	r.add(ruleNoBackend, "backend", err.Error(), `put the model file into the version directory, or write backend: "onnxruntime" or the like`)
	return false
}
