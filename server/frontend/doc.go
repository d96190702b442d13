// Package frontend holds what is the same for all frontends: load parameters, trace settings, log
// settings, restricted categories of calls, the JSON of administrative messages, and the frontend's
// part in the traces of requests.
package frontend
