package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/cuda"
	"triton/pkg/gpu"
	"triton/repo/example"
	"triton/server"
	"triton/server/local"
	models "triton/server/repository"
)

// gpuWork lets each GPU do a little of what a server needs: keep bytes for clients, and run a model.
func gpuWork(ctx context.Context, p process.Process, o options) []Finding {
	if !o.gpu {
		return nil
	}
	const check = "work on GPUs"
	machine, err := gpu.Open(machine.GPUs(p, nil))
	if err != nil {
		return []Finding{about(check, Failure, "there is no GPU to try").do("%v", err)}
	}
	shown := len(machine.Devices())
	machine.Close()
	if shown == 0 {
		return []Finding{about(check, Failure, "CUDA shows no GPU to try").do("look at CUDA_VISIBLE_DEVICES")}
	}
	driver, err := cuda.Open()
	if err != nil {
		return []Finding{about(check, Failure, "the CUDA driver does not start").do("%v", err)}
	}
	found := make([]Finding, 0, 2*shown)
	for i := range shown {
		f := about(fmt.Sprintf("memory of GPU %d", i), OK, "1 MiB was allocated, written and read back")
		if err := keep(driver, i); err != nil {
			f = about(f.Check, Failure, "memory cannot be used").do("%v", err)
		}
		found = append(found, f, runModel(ctx, p, o, driver, i))
	}
	return found
}

// keep writes to new memory of a device and reads it back.
func keep(driver cuda.Driver, device int) error {
	a, ok := driver.(cuda.Allocator)
	if !ok {
		return fmt.Errorf("the driver allocates no memory")
	}
	m, _, err := a.Allocate(device, 1<<20)
	if err != nil {
		return fmt.Errorf("allocate 1 MiB: %w", err)
	}
	want := bytes.Repeat([]byte("triton"), 1<<20/6)
	got := make([]byte, len(want))
	err = m.Write(want, 0)
	if err == nil {
		err = m.Read(got, 0)
	}
	if closing := m.Close(); err == nil {
		err = closing
	}
	if err == nil && !bytes.Equal(want, got) {
		err = fmt.Errorf("the memory holds other bytes than were written")
	}
	return err
}

// runModel runs a model of ONNX Runtime on a device and compares its answer.
func runModel(ctx context.Context, p process.Process, o options, driver cuda.Driver, device int) Finding {
	check := fmt.Sprintf("ONNX Runtime on GPU %d", device)
	dir, err := os.MkdirTemp("", "triton-doctor-*")
	if err != nil {
		return about(check, Failure, "there is no folder for a model").do("%v", err)
	}
	defer os.RemoveAll(dir)
	took, err := addOn(ctx, p, o, driver, device, dir)
	if err != nil {
		return about(check, Failure, "a model cannot be run").do("%s", strings.TrimSpace(err.Error()))
	}
	return about(check, OK, "a model was loaded and answered rightly, in %s", took.Round(time.Millisecond))
}

// addOn serves the example model that adds and subtracts, on one device, from a folder of its own.
func addOn(ctx context.Context, p process.Process, o options, driver cuda.Driver, device int, dir string) (time.Duration, error) {
	const model = "simple"
	if err := example.Write(ctx, dir, example.Options{Models: []string{model}, Seed: 1}); err != nil {
		return 0, err
	}
	file, err := os.OpenFile(filepath.Join(dir, model, "config.pbtxt"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(file, "\ninstance_group [ { kind: KIND_GPU count: 1 gpus: [ %d ] } ]\n", device)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return 0, err
	}
	opts := local.Options()
	opts.Repositories = []string{dir}
	opts.Models.Control = models.ControlExplicit // a load tells what is wrong, a start only that something is
	opts.Backends = server.NewBackends(machine.ONNXRuntime(p, "", o.backends))
	opts.GPUs = machine.GPUs(p, driver)
	begin := time.Now()
	s, err := local.Start(ctx, opts)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := s.Load(ctx, model, client.Override{}); err != nil {
		return 0, err
	}
	a, b := make([]int32, 16), make([]int32, 16)
	for i := range a {
		a[i], b[i] = int32(i), int32(100*i)
	}
	resp, err := s.Infer(ctx, &client.Request{Model: model, Inputs: []client.Tensor{
		client.NewTensor("INPUT0", []int64{1, 16}, a...), client.NewTensor("INPUT1", []int64{1, 16}, b...),
	}})
	if err != nil {
		return 0, err
	}
	sum, err := client.Values[int32](resp.Output("OUTPUT0"))
	if err != nil {
		return 0, err
	}
	for i := range a {
		if sum[i] != a[i]+b[i] {
			return 0, fmt.Errorf("%d + %d is %d on the GPU", a[i], b[i], sum[i])
		}
	}
	return time.Since(begin), nil
}
