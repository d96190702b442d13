package state

import (
	"fmt"
	"log/slog"

	"triton/server/model"
)

// VersionState is the state of a version, by its name in the repository index.
type VersionState string

// The states. A version that is loaded again stays ready meanwhile.
//
//	-> LOADING -> READY -> UNLOADING -> UNAVAILABLE, "unloaded"
//	   LOADING ---------------------> UNAVAILABLE, the reason
//	   LOADING -> UNLOADING (another version of the same load failed)
const (
	VersionLoading     VersionState = "LOADING"
	VersionReady       VersionState = "READY"
	VersionUnloading   VersionState = "UNLOADING"
	VersionUnavailable VersionState = "UNAVAILABLE"
)

// ReasonUnloaded is the reason of a version that was unloaded.
const ReasonUnloaded = "unloaded"

// Version is a version of a model. It stays in the state when it is unloaded.
type Version struct {
	Number int64
	State  VersionState
	Reason string               // of an unavailable version
	Loaded *model.LoadedVersion // nil unless the version is ready or unloading

	text string // Number in decimal
}

// Unloaded makes a version that was closed unavailable.
func (v *Version) Unloaded() {
	v.State, v.Reason, v.Loaded = VersionUnavailable, ReasonUnloaded, nil
}

// reason returns why the version is in its state, and which instances of a ready version
// do not work.
func (v *Version) reason() string {
	if v.State == VersionReady {
		return v.Loaded.InstanceProblems()
	}
	return v.Reason
}

// works reports whether the version is ready and has an instance that works.
func (v *Version) works() bool { return v.State == VersionReady && v.Loaded.Ready() }

// passesChecks reports whether the version works and passes the readiness checks that its instances
// have. Why it does not pass them is logged.
func (v *Version) passesChecks(log *slog.Logger) bool {
	if !v.works() {
		return false
	}
	err := v.Loaded.CheckReady()
	if err != nil {
		log.Debug(fmt.Sprintf("Model '%s' version %s is not ready: %s", v.Loaded.Label(), v.text, err))
	}
	return err == nil
}
