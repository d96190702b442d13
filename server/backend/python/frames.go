package python

// The frames to a child.
const (
	frameLoad      = 1 // JSON: what to import, and the arguments of initialize
	frameComplete  = 2 // JSON: what to import, and the configuration to complete
	frameExecute   = 3 // a batch
	frameFinalize  = 4
	frameGrant     = 5 // answers frameNeed
	frameCancelled = 6 // answers frameIsCancelled
)

// The frames from a child.
const (
	frameHello       = 16 // JSON: the interpreter
	frameDone        = 17 // answers frameLoad, frameComplete and frameFinalize
	frameFailed      = 18 // the same: the text of an error
	frameResult      = 19 // answers frameExecute
	frameNeed        = 20 // asks for memory for outputs
	frameIsCancelled = 21 // asks whether a request is cancelled
	frameLog         = 32 // a log record, on the report socket
)

// hello is the body of frameHello.
type hello struct {
	Python string `json:"python"`
	Numpy  string `json:"numpy"`
	Error  string `json:"error"`
	Limit  string `json:"limit"` // why a limit cannot be set
}

// about is the body of frameLoad and frameComplete.
type about struct {
	Name       string            `json:"name"`
	File       string            `json:"file"`
	Module     string            `json:"module"` // its name in Python
	Path       []string          `json:"path"`   // added to sys.path
	ModelDir   string            `json:"model_dir"`
	VersionDir string            `json:"version_dir"`      // pb_utils.get_model_dir()
	Args       map[string]string `json:"args,omitempty"`   // of initialize
	Config     string            `json:"config,omitempty"` // to complete
}
