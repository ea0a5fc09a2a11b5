package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scene is one case: a target, what is done to the generator, and whether that
// makes it the limit.
type scene struct {
	name    string
	target  func() (stop func(), url string, err error)
	hold    func() (wrap []string, free func(), err error)
	options string
	limited bool
}

func cases() []scene {
	last := runtime.NumCPU() - 1
	return []scene{
		{"limited: a quota of 0.2 CPUs, 20 processes", serve(), quota(20), "-c 20", true},
		{"limited: a quota of 0.2 CPUs, kept open", serve(), quota(20), "-c 100 -k -w auto", true},
		{"limited: a quota of 0.8 CPUs, kept open", serve(), quota(80), "-c 100 -k -w auto", true},
		{"limited: one CPU for it and the target, 20 processes", serveOn(0), bound(0), "-c 20", true},
		{"limited: one CPU for it and the target, kept open", serveOn(0), bound(0), "-c 100 -k -w auto", true},
		{"limited: a busy loop on its CPU", serveOn(last), beside(0), "-c 50 -k -w 1", true},
		{"limited: one CPU against two", serveOn(last), bound(0), "-c 100", true},
		{"slow: delay of 20 ms, 20 processes", serve("--fault", "delay:20ms"), free, "-c 20", false},
		{"slow: delay of 100 ms, 500 kept open", serve("--fault", "delay:100ms"), free, "-c 500 -k -w auto", false},
		{"slow: delay of 1 s, 500 processes at once", serve("--fault", "delay:1s"), free, "-c 500", false},
		{"slow: answers in drips", serve("--fault", "drip:1/20ms"), free, "-c 50", false},
		{"slow: never answers", serve("--fault", "silence"), free, "-c 50", false},
		{"slow: stopped (SIGSTOP)", stopped(), free, "-c 50", false},
		{"slow: uses all CPUs itself, 10 ms for an answer", busy(), free, "-c 50", false},
		{"slow: uses all CPUs itself, kept open", busy(), free, "-c 50 -k -w auto", false},
		{"slow: asked for no more than 500 requests/s", serve(), free, "-c 4 -k -w 1 -R 500", false},
		{"slow: nginx with limit_rate", nginx(), free, "-c 20", false},
	}
}

// start starts a program that ends with this one.
func start(command ...string) (*exec.Cmd, io.Reader, error) {
	cmd := exec.Command(command[0], command[1:]...)
	// With a session of its own it is not counted as one more process of horde's by
	// the scheduler's autogroups.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, out, cmd.Start()
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}

type target = func() (stop func(), url string, err error)

// serve is horde's own target.
func serve(options ...string) target {
	return func() (func(), string, error) { return launch(append([]string{*horde, "serve"}, options...)) }
}

// serveOn puts it on one CPU.
func serveOn(cpu int) target {
	return func() (func(), string, error) {
		return launch([]string{"taskset", "-c", fmt.Sprint(cpu), *horde, "serve"})
	}
}

func launch(command []string) (func(), string, error) {
	cmd, url, err := launchCommand(command)
	if err != nil {
		return nil, "", err
	}
	return func() { end(cmd) }, url, nil
}

// launchCommand starts horde serve, which prints its address first.
func launchCommand(command []string) (*exec.Cmd, string, error) {
	cmd, out, err := start(command...)
	if err != nil {
		return nil, "", err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end(cmd)
		return nil, "", err
	}
	return cmd, "http://" + strings.TrimSpace(address) + "/", nil
}

// stopped is one whose processes stand still: the kernel takes the connections,
// and nobody answers.
func stopped() target {
	return func() (func(), string, error) {
		cmd, url, err := launchCommand([]string{*horde, "serve"})
		if err != nil {
			return nil, "", err
		}
		signalChildren(cmd, syscall.SIGSTOP)
		stop := func() {
			signalChildren(cmd, syscall.SIGCONT)
			end(cmd)
		}
		return stop, url, nil
	}
}

// signalChildren sends a signal to the processes that a program has started.
func signalChildren(cmd *exec.Cmd, s syscall.Signal) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				_ = syscall.Kill(pid, s)
			}
		}
	}
}

const nginxConfig = `daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen 127.0.0.1:%d;
		root .;
		location / { limit_rate 64k; }
	}
}
`

// nginx sends the rest of a page a second later.
func nginx() target {
	return func() (func(), string, error) {
		dir, err := os.MkdirTemp("", "limited")
		if err != nil {
			return nil, "", err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		_ = os.Chmod(dir, 0o755) // its worker is another user
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, "nginx.conf"), fmt.Appendf(nil, nginxConfig, port), 0o644),
			os.WriteFile(filepath.Join(dir, "page"), make([]byte, 96<<10), 0o644))
		if err != nil {
			return nil, "", err
		}
		cmd, _, err := start("nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
		if err != nil {
			return nil, "", err
		}
		stop := func() {
			end(cmd)
			_ = os.RemoveAll(dir)
		}
		return stop, fmt.Sprintf("http://127.0.0.1:%d/page", port), listening(port)
	}
}

func listening(port int) error {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// free leaves the generator alone.
func free() (wrap []string, done func(), err error) { return nil, func() {}, nil }

// bound gives it one CPU.
func bound(cpu int) func() ([]string, func(), error) {
	return func() ([]string, func(), error) {
		return []string{"taskset", "-c", fmt.Sprint(cpu)}, func() {}, nil
	}
}

// beside gives it one CPU, on which there is something else to do.
func beside(cpu int) func() ([]string, func(), error) {
	return func() ([]string, func(), error) {
		loop, _, err := start("taskset", "-c", fmt.Sprint(cpu), "sh", "-c", "while :; do :; done")
		if err != nil {
			return nil, nil, err
		}
		return []string{"taskset", "-c", fmt.Sprint(cpu)}, func() { end(loop) }, nil
	}
}

var errNoGroup = errors.New("no control group for CPUs can be made here")

// quota gives it a control group of its own with so many per cent of a CPU.
func quota(percent int) func() ([]string, func(), error) {
	return func() ([]string, func(), error) {
		dir, err := newGroup(percent)
		if err != nil {
			return nil, nil, err
		}
		enter := []string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, dir}
		return enter, func() { _ = os.Remove(dir) }, nil
	}
}

// newGroup makes a group by version 1 or 2, whichever is there.
func newGroup(percent int) (string, error) {
	for root, file := range map[string]string{"/sys/fs/cgroup": "cpu.max", "/sys/fs/cgroup/cpu": "cpu.cfs_quota_us"} {
		dir := filepath.Join(root, fmt.Sprintf("horde-limited-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		// The period is the kernel's own 100 ms, so that both take the quota in
		// microseconds. The file is not created: the directory may be an ordinary one.
		if quota, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0); err == nil {
			_, err = fmt.Fprint(quota, percent*1000)
			if quota.Close() == nil && err == nil {
				return dir, nil
			}
		}
		_ = os.Remove(dir)
	}
	return "", errNoGroup
}
