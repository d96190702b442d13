package readiness

// Version is the condition of one version of a model, or of a model without versions.
type Version struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Version   string `json:"version,omitempty"`
	// State is the state in the repository index: LOADING, READY, UNLOADING or UNAVAILABLE.
	State string `json:"state"`
	// Ready reports whether the version serves and its instances pass their checks.
	Ready bool `json:"ready"`
	// Desired reports whether the model should be loaded.
	Desired bool   `json:"desired"`
	Reason  string `json:"reason,omitempty"`

	Unloaded bool `json:"-"` // on request
	Refused  bool `json:"-"` // the model's configuration cannot be used, so that it was never loaded
}

// Report is the answer to the verbose health checks.
type Report struct {
	Live  bool `json:"live"`
	Ready bool `json:"ready"`
	// Phase is starting, serving, failed, draining or exiting.
	Phase string `json:"phase"`
	// Policy is the rule that decides, see Policy.String.
	Policy string `json:"readiness"`
	// Reasons say why the server is not ready.
	Reasons []string `json:"reasons,omitempty"`
	// Warnings say what is wrong without keeping the server from being ready.
	Warnings []string  `json:"warnings,omitempty"`
	Models   []Version `json:"models"`
	Start    Start     `json:"startup"`
	// State is the condition of the fleet state; nil without one.
	State any `json:"state,omitempty"`
}

// Start is the progress of the loads.
type Start struct {
	// Models is the number of models to serve that are known so far, Loaded how many serve.
	Models int `json:"models"`
	Loaded int `json:"loaded"`
	// Seconds is how long the start took, or takes.
	Seconds float64 `json:"seconds"`
	// Loading are the versions that load now.
	Loading []Loading `json:"loading,omitempty"`
}

// Loading is a version that loads.
type Loading struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Seconds float64 `json:"seconds"` // since it began
	// Activity is what the store does for it now, such as a download; empty: nothing that takes long.
	Activity string `json:"activity,omitempty"`
}
