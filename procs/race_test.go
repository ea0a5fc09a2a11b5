//go:build race

package procs

// The race detector would have each worker wait for a second before it ends.
func init() { raceEnv = []string{"GORACE=atexit_sleep_ms=0"} }
