package nvml

import "fmt"

// Return is the result of a call. Success is a value like the others, not nil: compare
// with it.
type Return int

// The results that callers react to.
const (
	Success          Return = 0
	Uninitialized    Return = 1
	InvalidArgument  Return = 2
	NotSupported     Return = 3
	NoPermission     Return = 4
	NotFound         Return = 6
	InsufficientSize Return = 7
	DriverNotLoaded  Return = 9
	Timeout          Return = 10
	LibraryNotFound  Return = 12
	FunctionNotFound Return = 13
	GPUIsLost        Return = 15
	ResetRequired    Return = 16
	VersionMismatch  Return = 18 // of library and kernel driver
	InUse            Return = 19
	NoData           Return = 21
	ArgumentMismatch Return = 25 // of the version of a structure
	GPUNotFound      Return = 28
	InvalidState     Return = 29
	Unknown          Return = 999
)

var texts = map[Return]string{
	Success:          "success",
	Uninitialized:    "NVML was not started",
	InvalidArgument:  "invalid argument",
	NotSupported:     "not supported by this device",
	NoPermission:     "no permission",
	NotFound:         "not found",
	InsufficientSize: "buffer too small",
	DriverNotLoaded:  "the kernel driver is not loaded",
	Timeout:          "timeout",
	LibraryNotFound:  "libnvidia-ml.so.1 was not found",
	FunctionNotFound: "the driver does not have this function",
	GPUIsLost:        "the GPU is lost: it fell off the bus or cannot be reached",
	ResetRequired:    "the GPU needs a reset",
	VersionMismatch:  "NVML and the kernel driver have different versions; reload the driver",
	InUse:            "in use",
	NoData:           "no data",
	ArgumentMismatch: "the driver expects another version of the structure",
	GPUNotFound:      "no GPU was found",
	InvalidState:     "invalid state",
	Unknown:          "unknown error of the driver",
}

// Error makes Return an error.
func (r Return) Error() string {
	if text, ok := texts[r]; ok {
		return text
	}
	return fmt.Sprintf("NVML error %d", int(r))
}
