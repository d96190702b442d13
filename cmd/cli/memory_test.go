package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyTestsPanicWithoutMemory finds calls of Pool.Get, which panics when there is no
// memory: all but tests call TryGet (docs/adr/0011-memory.md). A pool is recognized by its
// name.
func TestOnlyTestsPanicWithoutMemory(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	for _, top := range []string{"pkg", "server"} {
		root := filepath.Join("..", "..", top)
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), "triton/pkg/tensor") {
				return err
			}
			file, err := parser.ParseFile(files, path, text, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if name := panics(n); name != "" {
					t.Errorf("%s: %s panics when there is no memory: call Try%[2]s", files.Position(n.Pos()), name)
				}
				return true
			})
			return nil
		}))
	}
}

// panics returns the name of the method if n calls one that panics.
func panics(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 { // Get of a sync.Pool has no arguments
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Get" {
		return ""
	}
	of := ""
	switch x := method.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	if of == "p" || strings.EqualFold(of, "pool") {
		return method.Sel.Name
	}
	return ""
}
