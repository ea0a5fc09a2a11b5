// Package e2e tests horde from outside: a fresh binary, its command line, what
// it prints, and what a scripted server on loopback saw of it. Nothing here
// imports the program. Each test plays one kind of target, user or host that
// load generators are known to get wrong, and asserts exact counts where the
// script makes them exact.
//
// HORDE_BINARY=PATH tests a given binary in place of a fresh build. Tests that
// need what a host does not have (nginx, namespaces, a writable pids cgroup)
// are skipped and say why.
package e2e
