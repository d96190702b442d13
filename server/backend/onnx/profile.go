//go:build cgo && (linux || darwin)

package onnx

/*
#include <stdlib.h>
#include "ort.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"triton/pkg/status"
)

// profile makes the session write a profile, if the model asks for one. The folder is the
// operator's choice: a configuration does not say where the server writes.
func (m *model) profile(open *opening) error {
	if !open.options.profile {
		return nil
	}
	dir := m.spec.Settings[settingProfiles]
	if dir == "" {
		return status.New(status.InvalidArg,
			"the parameter %s of model '%s' needs a folder for profiles: start the server with --backend-config onnxruntime,%s=<folder>",
			parameterProfile, m.spec.Name, settingProfiles)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // profiles are for other users too
		return status.New(status.Unavailable, "the folder for profiles of model '%s': %w", m.spec.Name, err)
	}
	// ONNX Runtime adds the time in seconds; two sessions may be opened in the same second.
	open.profile = filepath.Join(dir, fmt.Sprintf("%s-%d-%d", fileName(m.spec.Name), m.spec.Version, m.profiles.Add(1)))
	return nil
}

func (m *model) profileWritten(file string) {
	m.spec.Log.Info("ONNX Runtime has written a profile", "model", m.spec.Name, "version", m.spec.Version, "file", file)
}

// endProfile completes the profile. No run is active.
func (s *session) endProfile() {
	var name *C.char
	err := check(C.trt_ort_session_end_profile(s.lib.c, s.ptr, &name))
	defer C.free(unsafe.Pointer(name))
	if err == nil {
		s.profile(C.GoString(name))
	}
}
