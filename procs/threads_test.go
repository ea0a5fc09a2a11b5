//go:build !cgo

package procs

// A worker of a binary without C has as many threads as one of the program.
func init() { runningThreads = workerThreads }
