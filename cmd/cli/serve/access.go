package serve

// bindAccess defines the flags of who may do what.
func (o *options) bindAccess(t *table) {
	g := &o.Guard
	t.Group("Access")
	t.text(&g.Policy, "access-policy",
		"File with the rules of who may do what, in YAML. It is read again when it changes. Without it, if there are API keys or tokens, whoever has one may do everything.")
	t.text(&g.Keys, "api-keys", "File of API keys, made by triton access. It has hashes of the keys and is read again when it changes.")
	t.text(&g.Tokens.Keys, "jwt-keys", "File or https URL of a JSON Web Key Set with the public keys of tokens. Accepted are RS256, ES256 and EdDSA.")
	t.text(&g.Tokens.Issuer, "jwt-issuer", "Issuer (iss) that tokens must have.")
	t.text(&g.Tokens.Audience, "jwt-audience", "Audience (aud) that tokens must have.")
	t.text(&g.Tokens.Groups, "jwt-groups-claim", "Claim of a token that lists the groups of its subject.")
	t.seconds(&g.Tokens.Leeway, "jwt-clock-skew-secs", "Seconds that the clocks of the issuer and the server may differ.")
	t.value(intValue[int]{to: &g.Failures, max: maxInt32}, "auth-failures",
		"Number of wrong credentials that an address may present before it has to wait, one second at first and at most a minute. 0 is no limit.")
	t.text(&g.Audit.File, "audit-log", "File to which calls are recorded as lines of JSON: who, what, when, result. stderr is the console.")
	t.boolean(&g.Audit.Required, "audit-log-required", "Refuse calls that cannot be recorded. Otherwise they are counted in triton_audit_dropped_total.")
	t.value(intValue[int64]{to: &g.Audit.MaxBytes, max: maxInt}, "audit-log-max-byte-size",
		"Size at which the audit log is renamed to <file>.1, which replaces an earlier one. 0 is no limit. A file that another program has renamed is opened anew.")
	t.port(&o.Control.Port, "control-http-port",
		"Port for the HTTP calls of the repository, shared memory, settings, traffic rules and state. The other ports, gRPC too, then refuse these calls. It answers all other calls too.")
	t.text(&o.Control.Address, "control-http-address", "Address to listen at for --control-http-port.")
	t.MarkOwn("access-policy", "api-keys", "jwt-keys", "jwt-issuer", "jwt-audience", "jwt-groups-claim", "jwt-clock-skew-secs", "auth-failures",
		"audit-log", "audit-log-required", "audit-log-max-byte-size", "control-http-port", "control-http-address")
}

// finishAccess checks the flags of access together.
func (o *options) finishAccess() error {
	t := &o.Guard.Tokens
	if t.Keys != "" && (t.Issuer == "" || t.Audience == "") {
		return tritonErrorf("Error: --jwt-keys requires --jwt-issuer and --jwt-audience: otherwise tokens for other services would be accepted.")
	}
	if t.Keys == "" {
		for _, name := range []string{"jwt-issuer", "jwt-audience", "jwt-groups-claim", "jwt-clock-skew-secs"} {
			if o.table.Changed(name) {
				o.table.noEffect[name] = "tokens are accepted only with --jwt-keys"
			}
		}
	}
	o.Control.Allow = o.table.Changed("control-http-port")
	return nil
}
