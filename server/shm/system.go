package shm

import (
	"os"
	"sort"
	"strings"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// SystemRegion is one registered system region. Offset and Size are in bytes.
type SystemRegion struct {
	Name, Key    string
	Offset, Size uint64
}

// reserved is the prefix of the objects of Python model processes.
const reserved = "triton_python_backend_shm_region_"

// RegisterSystem maps size bytes at offset, which must be page-aligned, of the
// POSIX object key.
func (m *Manager) RegisterSystem(name, key string, offset, size uint64) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	if err := checkNames(name, key); err != nil {
		return err
	}
	object := strings.TrimLeft(key, "/")
	if object == "" {
		return status.New(status.InvalidArg, "cannot register shared memory region '%s' - invalid shm key '%s'", name, key)
	}
	if strings.HasPrefix(object, reserved) {
		return status.New(status.InvalidArg,
			"cannot register shared memory region '%s' with key '%s' as the key contains the reserved prefix '%s'", name, key, reserved)
	}
	return m.register(&region{name: name, size: size, memory: &mapping{key: key, name: object, offset: offset}})
}

// checkNames limits the names that the registry keeps.
func checkNames(name, key string) error {
	if err := kserve.CheckLength("name of a shared memory region", len(name), kserve.MaxName); err != nil {
		return err
	}
	return kserve.CheckLength("shared memory key", len(key), kserve.MaxName)
}

// UnregisterSystem removes a system region, or all of them if name is empty. The name
// stays reserved until the last request that uses the region has ended; no new request
// finds it. A name that is not registered is not an error.
func (m *Manager) UnregisterSystem(name string) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	m.unregister(system, name)
	return nil
}

// SystemStatus returns a system region, or all regions if name is empty, sorted by
// name.
func (m *Manager) SystemStatus(name string) ([]SystemRegion, error) {
	regions, other := m.list(system, name)
	if name != "" && len(regions) == 0 {
		if other {
			return nil, status.New(status.NotFound,
				"The region named '%s' is registered as CUDA shared memory, not system shared memory", name)
		}
		return nil, status.New(status.NotFound, "Unable to find system shared memory region: '%s'", name)
	}
	var all []SystemRegion
	for _, r := range regions {
		p := r.memory.(*mapping)
		if err := p.Lost(); err != nil {
			if name != "" {
				return nil, err
			}
			continue
		}
		all = append(all, SystemRegion{r.name, p.key, p.offset, r.size})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// mapping is the part of a POSIX object that a region covers, and the owner of its
// memory.
type mapping struct {
	key    string // as the client wrote it
	name   string // without leading slashes
	offset uint64
	object *object
	region *region
}

func (*mapping) kind() kind { return system }

// Foreign marks memory that the client may change at any time.
func (*mapping) Foreign() {}

// Lost returns an error once the client has taken a part of the memory away.
func (p *mapping) Lost() error {
	if !p.object.lost() {
		return nil
	}
	return status.New(status.InvalidArg,
		"shared memory region '%s' is lost: its object '%s' became smaller while it was used, or there was no memory for its pages. Register the region again.",
		p.region.name, p.key)
}

// Shared returns the object and the offset of the region in it.
func (p *mapping) Shared(*tensor.Buffer) (file *os.File, offset int64, ok bool) {
	return p.object.file, int64(p.offset), p.object.file != nil
}

func (p *mapping) open(r *region) (err error) {
	p.region = r
	if p.object, err = openObject(p.name); err != nil {
		if status.CodeOf(err) == status.Unsupported {
			return err
		}
		return status.New(status.Internal, "Unable to open shared memory region: '%s'", p.key)
	}
	size, err := p.object.size()
	switch {
	case err != nil:
		err = status.New(status.Internal, "Invalid shared memory region: '%s'", p.key)
	case p.offset > size || r.size > size-p.offset:
		err = status.New(status.InvalidArg, "failed to register shared memory region '%s': invalid args", r.name)
	default:
		if text := p.object.open(p.offset, r.size); text != "" {
			err = status.New(status.InvalidArg,
				"failed to register shared memory region '%s': unable to process address space%s", r.name, text)
		}
	}
	if err != nil {
		p.object.close()
	}
	return err
}

var (
	_ tensor.Foreign = (*mapping)(nil)
	_ tensor.Sharer  = (*mapping)(nil)
)

// init marks memory that another region covers too as not stable: it is copied before a
// backend runs, and backends do not write into it. Otherwise an output could change an
// input that is still to be read, through another address.
func (p *mapping) init(r *region, others map[string]*region) {
	stable := true
	for _, o := range others {
		if q, ok := o.memory.(*mapping); ok && o.state != opening && p.overlaps(q) {
			stable = false
			break
		}
	}
	r.Init(p.object.mem, stable, p)
}

// overlaps reports whether two regions have bytes in common.
func (p *mapping) overlaps(o *mapping) bool {
	return p.object.id == o.object.id && p.offset < o.offset+o.region.size && o.offset < p.offset+p.region.size
}

func (p *mapping) holds(n uint64) error {
	if !p.object.holds(p.offset + n) {
		return status.New(status.Internal, "Invalid shared memory region: '%s'", p.key)
	}
	return nil
}

func (p *mapping) close() error {
	p.object.close()
	return nil
}

// Free unmaps the region after its last reference.
func (p *mapping) Free(*tensor.Buffer) { p.region.free() }
