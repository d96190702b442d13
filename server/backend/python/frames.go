package python

// The frames to a child, on the control channel.
const (
	frameLoad     = 1 // JSON: what to import, and the arguments of initialize
	frameComplete = 2 // JSON: what to import, and the configuration to complete
	frameExecute  = 3 // a batch
	frameFinalize = 4
	frameGrant    = 5 // answers frameNeed
)

// The frames from a child, on the control channel.
const (
	frameHello  = 16 // JSON: the interpreter
	frameDone   = 17 // answers frameLoad, frameComplete and frameFinalize
	frameFailed = 18 // the same: the text of an error
	frameResult = 19 // answers frameExecute
	frameNeed   = 20 // asks for memory for the outputs of the batch
)

// The frames from a child, on the event channel.
const (
	frameLog         = 32 // a log record
	frameSend        = 33 // a response of a response sender
	frameRelease     = 34 // gives back blocks; names requests that nothing can answer any more
	frameReserve     = 35 // asks for a block to write to
	frameIsCancelled = 36 // asks whether a request is cancelled
	frameCall        = 37 // a request to a model
	frameCancelCall  = 38 // asks the model that was called to stop
	frameMetric      = 39 // makes, changes or reads a metric
	frameControl     = 40 // JSON: loads or unloads a model, asks whether one is ready
	frameReadiness   = 41 // answers frameCheck
)

// The frames to a child, on the event channel.
const (
	frameBlock    = 48 // answers frameReserve
	frameAnswer   = 49 // answers a question
	frameResponse = 50 // a response to frameCall
	frameCheck    = 51 // calls is_ready
)

// The outcomes of a request in the result of a batch.
const (
	resultResponse = iota
	resultError
	resultNone // the response comes from a response sender
	resultReschedule
)

// The flags of a request, as in Triton's C API.
const (
	flagSequenceStart = 1 << iota
	flagSequenceEnd
)

// Small tensors are in frames, which costs less than a block.
const (
	inline      = 0xFFFFFFFF // the block of a tensor whose bytes are in the frame
	inlineBytes = 4 << 10    // bytes of the largest tensor in a frame
	inlineAlign = 16         // alignment of its bytes in frames to a child
	inlineFrame = 64 << 10   // a frame of this size gets no more tensors
)

// hello is the body of frameHello.
type hello struct {
	Python string `json:"python"`
	Numpy  string `json:"numpy"`
	Error  string `json:"error"`
	Limit  string `json:"limit"` // why a limit cannot be set
}

// modelInfo is the body of frameLoad and frameComplete.
type modelInfo struct {
	Name       string            `json:"name"`
	File       string            `json:"file"`
	Module     string            `json:"module"` // its name in Python
	Path       []string          `json:"path"`   // added to sys.path
	ModelDir   string            `json:"model_dir"`
	VersionDir string            `json:"version_dir"` // pb_utils.get_model_dir()
	Decoupled  bool              `json:"decoupled,omitempty"`
	Args       map[string]string `json:"args,omitempty"`   // of initialize
	Config     string            `json:"config,omitempty"` // to complete
}
