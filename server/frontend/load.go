package frontend

import (
	"strings"

	"triton/pkg/status"
	"triton/server/infer"
)

// ErrRepositoryName refuses calls that name a repository.
var ErrRepositoryName = status.New(status.Unsupported, "'repository_name' specification is not supported")

// CheckIndex refuses to list the models of a server that could not initialize, and says why.
func CheckIndex(s infer.Service) error {
	if err := s.Failure(); err != nil {
		return status.New(status.Unavailable, "Server not ready: %s", status.From(err).Msg)
	}
	return nil
}

// LoadValue is the value of a load parameter as a codec decodes it.
type LoadValue interface {
	Text() (string, error)
	Content() ([]byte, error)
}

// AddLoadParameter adds a parameter to the options of a load and reports whether its name is
// known. If a name is repeated, its first value counts.
func AddLoadParameter(o *infer.LoadOptions, name string, v LoadValue) (known bool, err error) {
	switch {
	case name == "config":
		text, err := v.Text()
		if err == nil && o.Config == nil {
			o.Config = &text
		}
		return true, err
	case strings.HasPrefix(name, "file:"):
		content, err := v.Content()
		if err != nil {
			return true, err
		}
		if o.Files == nil {
			o.Files = map[string][]byte{}
		}
		if _, ok := o.Files[name]; !ok {
			o.Files[name] = content
		}
		return true, nil
	}
	return false, nil
}
