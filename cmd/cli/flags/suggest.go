package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Suggest adds the nearest flag to an error about an unknown one.
func Suggest(f *Set, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	f.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := Closest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
	}
	return fmt.Errorf("unknown flag --%s", name)
}
