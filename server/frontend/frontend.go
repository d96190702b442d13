// Package frontend holds what all front ends decide alike, whatever their codec: load parameters,
// trace settings and log settings.
package frontend
