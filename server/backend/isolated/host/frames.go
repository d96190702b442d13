package host

// The frames to a child. Those with an answer begin with the number of the question.
const (
	Describe      = 1 // JSON Description: what the backend can do; answered by JSON Abilities
	Complete      = 2 // JSON Spec: answered by the completed configuration
	Load          = 3 // JSON Spec
	NewInstance   = 4 // number, JSON Placement
	CloseInstance = 5 // number
	Finalize      = 6 // closes the model and ends the child
	CheckReady    = 7 // number of an instance
	Execute       = 8 // a batch
	Cancel        = 9 // numbers of requests that nobody waits for
	Interrupt     = 10
	Return        = 11 // outputs that the server has released
	Block         = 12 // answers Reserve
)

// The frames from a child.
const (
	Answer  = 32 // question, error or text
	Result  = 33 // answers Execute
	Respond = 34 // a response outside of a result
	LetGo   = 35 // the backend is done with a kept request
	Release = 36 // blocks to give back
	Reserve = 37 // asks for memory
	Log     = 38 // a log record
	Broken  = 39 // an instance reports a break
	State   = 40 // a state of a sequence, outside of a result
	Metric  = 41 // a change of the metrics that a library defines
)

// The kinds of Metric frames.
const (
	MetricFamily = iota // number, name, help, kind
	MetricNew           // number, that of the family, labels, bounds
	MetricChange        // number, kind, value
	MetricDrop          // number
)

// The flags of a request in a result.
const (
	Answered    = 1 << iota // its final response follows
	Kept                    // the backend keeps it
	Finished                // the backend has let go of it
	Rescheduled             // it runs again
	Repeated                // it was answered more than once
)
