package data

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"strings"

	"triton/pkg/tensor"
)

// generated returns the elements that a command writes. As in perf_analyzer the command runs
// before the load, in the shell, and a length of 0 or one that is cut short ends the elements.
func generated(command string) (Value, error) {
	var errs strings.Builder
	cmd := exec.Command("sh", "-c", command) //nolint:gosec,noctx // the user's own command, which ends by itself
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return Value{}, fmt.Errorf("Failed to open pipe with the following process: %s (%w) %s", command, err, strings.TrimSpace(errs.String()))
	}
	v := Value{Shape: tensor.Shape{0}}
	for len(out) >= 4 {
		n := int64(binary.LittleEndian.Uint32(out))
		out = out[4:]
		if n == 0 {
			break
		}
		if n > int64(len(out)) {
			return Value{}, fmt.Errorf("Unmatching number of bytes read from the pipe: expected = %d, bytes read = %d", n, len(out))
		}
		v.Data = tensor.AppendElement(v.Data, out[:n])
		out = out[n:]
		v.Shape[0]++
	}
	if v.Shape[0] == 0 {
		return Value{}, fmt.Errorf("the command wrote no message: %s", command)
	}
	return v, nil
}
