package chaos

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"triton/pkg/client"
)

// override loads content that comes with the request instead of that of the folder, and then
// the folder's again. No request may fail.
type override struct{}

func (override) applies(m Model, c Control) bool {
	return c == Explicit && m.kind == "onnx" && len(m.Versions) == 1
}

func (override) play(e *episode) error {
	v, edition := e.any(), e.next()
	name, content := e.x.file(e.Root, edition)
	config := `{"backend":"onnxruntime","max_batch_size":8}`
	e.oracle.mayOther(e.x, v, edition, time.Now())
	err := e.client().Load(e.ctx, e.x.Name, client.Override{Config: config, Files: map[string][]byte{filepath.Join(strconv.Itoa(v), name): content}})
	if err != nil {
		return fmt.Errorf("loading with content: %w", err)
	}
	if a := e.probe(v); a.err != nil || a.edition != edition {
		return fmt.Errorf("after the load with content version %d answers with edition %d (%w), not %d", v, a.edition, a.err, edition)
	}
	e.oracle.servesOther(e.x, v, edition, time.Now())
	e.wait(500 * time.Millisecond)
	return e.served()
}
