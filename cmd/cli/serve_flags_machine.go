package cli

import (
	"slices"
)

func (s *serveFlags) defineBackends(b *flagBook) {
	b.group("Backend")
	b.text(&s.opts.BackendDirectory, "backend-directory", "Folder of backend libraries; ONNX Runtime may lie in its folder onnxruntime.")
	var settings []string
	b.list(&settings, "backend-config", "<backend>,<setting>=<value> for one backend or <setting>=<value> for all; may be repeated.",
		func(v string) error { _, err := backendSetting(v); return err })
	b.text(&s.library, "onnxruntime-library", "The ONNX Runtime shared library; by default it is looked for beside this program, in lib/ and in the system's folders.")
	b.ours("onnxruntime-library")
	b.group("Repository Agent")
	b.unused(textValue("/opt/tritonserver/repoagents"), "repoagent-directory", "Folder of repository agent libraries.",
		"the agent checksum is part of the program, libraries are not loaded")
	s.finally(func() error {
		s.opts.Settings = map[string]map[string]string{}
		for _, v := range settings {
			set, err := backendSetting(v)
			if err != nil {
				return badOption("backend-config", err.Error())
			}
			if s.opts.Settings[set.name] == nil {
				s.opts.Settings[set.name] = map[string]string{}
			}
			s.opts.Settings[set.name][set.key] = set.value
		}
		return nil
	})
}

func (s *serveFlags) defineMachine(b *flagBook) {
	b.group("Memory/Device Management")
	pinned, copies := int64(256<<20), int64(0)
	var pool, address, policies []string
	pairs := func(v string) error { _, _, err := pair(v, ":", parseInt, parseUint); return err }
	const engine = "the execution provider manages the memory of GPUs"
	b.unused(intValue{to: &pinned, min: minInt, max: maxInt}, "pinned-memory-pool-byte-size", "Bytes of pinned memory.",
		"there is no pool of pinned memory")
	b.unused(listValue{&pool, pairs}, "cuda-memory-pool-byte-size", "<gpu>:<bytes> of CUDA memory; may be repeated.", engine)
	b.unused(listValue{&address, pairs}, "cuda-virtual-address-size", "<gpu>:<bytes> of CUDA address space for implicit state; may be repeated.", engine)
	b.add("min-supported-compute-capability", "CUDA compute capability that backends are told a GPU must have.", floatValue{&s.opts.MinComputeCapability})
	b.unused(intValue{to: &copies, min: minInt32, max: maxInt32}, "buffer-manager-thread-count", "Threads for copies.",
		"tensors are handed over, not copied")
	b.unused(listValue{&policies, func(v string) error { _, err := hostPolicy(v); return err }},
		"host-policy", "<policy>,<numa-node or cpu-cores>=<value>; may be repeated.", "threads are not bound to cores yet")
	b.list(new([]string), "model-load-gpu-limit",
		"<gpu>:<fraction>: refuse to load a model while more than this share of the GPU's memory is in use; may be repeated.", s.gpuLimit)
	s.finally(s.checkGPULimits)
	s.finally(func() error {
		for _, v := range policies {
			if set, _ := hostPolicy(v); !slices.Contains(hostSettings(), set.key) {
				return buildError("setting host policy: Unsupported - Unsupported host policy setting '%s' is specified, supported settings are 'numa-node', 'cpu-cores'", set.key)
			}
		}
		return nil
	})
}

func hostSettings() []string { return []string{"numa-node", "cpu-cores"} }

func (s *serveFlags) defineMemory(b *flagBook) {
	b.group("Shared Memory")
	b.boolean(&s.opts.ClientMemory, "allow-client-shm", "Let clients register shared memory, of the system and of CUDA, for inputs and outputs.")
}
