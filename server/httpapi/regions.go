package httpapi

import (
	"encoding/base64"
	"slices"
	"strings"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
	"triton/server/shm"
)

// maxRegisterRequest bounds the body of a register request, which holds a name and two numbers.
const maxRegisterRequest = 1 << 20

// systemMemory lists, registers and unregisters system shared memory.
func (a *api) systemMemory(x *exchange, r *route) error {
	switch r.to {
	case systemRegister:
		return a.registerSystem(x, r.region)
	case systemUnregister:
		return a.opts.Regions.UnregisterSystem(r.region)
	}
	all, err := a.opts.Regions.SystemStatus(r.region)
	if err != nil {
		return err
	}
	x.Text = appendSystemRegions(x.Text[:0], all)
	return nil
}

func (a *api) registerSystem(x *exchange, name string) error {
	req, err := a.readRegistration(x, name, "system")
	if err != nil {
		return err
	}
	key, err := required(req, "key")
	if err != nil {
		return err
	}
	object, err := key.String()
	if err != nil {
		return err
	}
	offset := uint64(0)
	if v, ok := req.Get("offset"); ok {
		if offset, err = v.Uint(); err != nil {
			return err
		}
	}
	v, err := required(req, "byte_size")
	if err != nil {
		return err
	}
	size, err := v.Uint()
	if err != nil {
		return err
	}
	return a.opts.Regions.RegisterSystem(name, object, offset, size)
}

// readRegistration reads the body of a request to register memory of a kind.
func (a *api) readRegistration(x *exchange, name, kind string) (tritonjson.Object, error) {
	if err := a.opts.Regions.Allowed(); err != nil {
		return tritonjson.Object{}, err
	}
	if name == "" {
		return tritonjson.Object{}, status.New(status.InvalidArg, "'region name' is necessary to register %s shared memory region", kind)
	}
	body, err := x.read(maxRegisterRequest)
	if err != nil {
		return tritonjson.Object{}, err
	}
	defer body.Release()
	return tritonjson.ParseObject(slices.Clone(body.Bytes()))
}

func required(req tritonjson.Object, name string) (tritonjson.Value, error) {
	v, ok := req.Get(name)
	if !ok {
		return v, status.New(status.InvalidArg, "Shared memory register request has no '%s' field", name)
	}
	return v, nil
}

// cudaMemory lists, registers and unregisters memory on GPUs.
func (a *api) cudaMemory(x *exchange, r *route) error {
	switch r.to {
	case cudaRegister:
		return a.registerCUDA(x, r.region)
	case cudaUnregister:
		return a.opts.Regions.UnregisterCUDA(r.region)
	}
	all, err := a.opts.Regions.CUDAStatus(r.region)
	if err != nil {
		return err
	}
	x.Text = appendCUDARegions(x.Text[:0], all)
	return nil
}

func (a *api) registerCUDA(x *exchange, name string) error {
	req, err := a.readRegistration(x, name, "cuda")
	if err != nil {
		return err
	}
	raw, err := required(req, "raw_handle")
	if err != nil {
		return err
	}
	inner, _ := raw.Object() // other values have no members
	text, err := member(inner, "b64")
	if err != nil {
		return err
	}
	encoded, err := text.String()
	if err != nil {
		return err
	}
	size, err := memberUint(req, "byte_size")
	if err != nil {
		return err
	}
	device, err := memberUint(req, "device_id")
	if err != nil {
		return err
	}
	handle, ok := decodeHandle(encoded)
	if !ok {
		return status.New(status.InvalidArg, "'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t")
	}
	return a.opts.Regions.RegisterCUDA(name, handle, device, size)
}

func member(o tritonjson.Object, name string) (tritonjson.Value, error) {
	v, ok := o.Get(name)
	if !ok {
		return v, status.New(status.InvalidArg, "attempt to access non-existing object member '%s'", name)
	}
	return v, nil
}

func memberUint(o tritonjson.Object, name string) (uint64, error) {
	v, err := member(o, name)
	if err != nil {
		return 0, err
	}
	return v.Uint()
}

// handleSize is the size of a cudaIpcMemHandle_t in bytes.
const handleSize = 64

// decodeHandle reads base64 as Triton does: characters outside the alphabet, padding included,
// are skipped.
func decodeHandle(text string) ([]byte, bool) {
	letters := strings.Map(func(r rune) rune {
		if r == '+' || r == '/' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, text)
	handle, err := base64.RawStdEncoding.DecodeString(letters)
	return handle, err == nil && len(handle) == handleSize
}

func appendSystemRegions(b []byte, all []shm.SystemRegion) []byte {
	b = append(b, '[')
	for i, r := range all {
		b = tritonjson.AppendString(append(tritonjson.Comma(b, i), `{"name":`...), r.Name)
		b = tritonjson.AppendString(append(b, `,"key":`...), r.Key)
		b = tritonjson.AppendUint(b, `,"offset":`, r.Offset)
		b = append(tritonjson.AppendUint(b, `,"byte_size":`, r.Size), '}')
	}
	return append(b, ']')
}

func appendCUDARegions(b []byte, all []shm.CUDARegion) []byte {
	b = append(b, '[')
	for i, r := range all {
		b = tritonjson.AppendString(append(tritonjson.Comma(b, i), `{"name":`...), r.Name)
		b = tritonjson.AppendUint(b, `,"device_id":`, r.Device)
		b = append(tritonjson.AppendUint(b, `,"byte_size":`, r.Size), '}')
	}
	return append(b, ']')
}
