package repository

import (
	"fmt"
	"testing"

	"triton/server/infer"
)

// BenchmarkLoadEnsembles loads many ensembles over the same two models one by one, as a client does.
func BenchmarkLoadEnsembles(b *testing.B) {
	const n = 400
	files := map[string]string{"p/config.pbtxt": identity, "p/1/": "", "q/config.pbtxt": identity, "q/1/": ""}
	for i := range n {
		files[fmt.Sprintf("e%d/config.pbtxt", i)] = chainOf("p", "q")
		files[fmt.Sprintf("e%d/1/", i)] = ""
	}
	dir := tree(b, files)
	for b.Loop() {
		r, _, err := open(b, func(o *Options) { o.Control = ControlExplicit }, dir)
		if err != nil {
			b.Fatal(err)
		}
		for i := range n {
			if err := r.Load(b.Context(), fmt.Sprint("e", i), infer.LoadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Drain(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
