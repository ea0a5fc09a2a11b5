package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// target is a server to load: nginx with so many workers, or horde's own if none.
type target struct {
	nginxWorkers int
}

// server is one that runs, for one run of one tool.
type server struct {
	url     string
	process *exec.Cmd
	dir     string       // nginx's
	said    bytes.Buffer // by horde serve at its end
}

const nginxConfig = `daemon off;
worker_processes %d;
pid nginx.pid;
error_log stderr crit;
worker_rlimit_nofile 20000;
events { worker_connections 19000; }
http {
	access_log off;
	keepalive_requests 1000000000;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen 127.0.0.1:%d backlog=8192;
		location / { return 200 "hello world\n"; }
		location /status { stub_status; }
	}
}
`

func (t target) start() (*server, error) {
	if t.nginxWorkers == 0 {
		return startOwn()
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, t.nginxWorkers, port), 0o644); err != nil {
		return nil, err
	}
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d/", port), dir: dir}
	s.process = exec.Command("nginx", "-p", dir, "-c", config)
	s.process.Stderr = os.Stderr
	s.process.SysProcAttr = daemon()
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	return s, s.awaitListening(port)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) awaitListening(port int) error {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			s.stop()
			return err
		}
	}
}

// daemon gives a server a session of its own: the scheduler's autogroups would
// otherwise count it as one more of the tool's processes. It ends with this one.
func daemon() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}

// startOwn starts horde serve, which prints its address first.
func startOwn() (*server, error) {
	s := &server{process: exec.Command(*horde, "serve")}
	s.process.Stderr = &s.said
	s.process.SysProcAttr = daemon()
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, err
	}
	s.url = "http://" + strings.TrimSpace(address) + "/"
	return s, nil
}

func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	_ = os.RemoveAll(s.dir)
}

// finish stops the server and returns how many requests it has answered.
func (s *server) finish() (uint64, error) {
	if s.dir == "" {
		s.stop()
		m := answered.FindSubmatch(s.said.Bytes())
		if m == nil {
			return 0, fmt.Errorf("no count in %q", s.said.Bytes())
		}
		return strconv.ParseUint(string(m[1]), 10, 64)
	}
	defer s.stop()
	return s.requests()
}

// answered matches the count in what horde serve says at its end.
var answered = regexp.MustCompile(`(\d+) requests answered`)

// counted matches the third number of the line of three in nginx's stub_status.
var counted = regexp.MustCompile(`(?m)^ \d+ \d+ (\d+) $`)

// requests is how many requests nginx has answered, this one left out.
func (s *server) requests() (uint64, error) {
	resp, err := http.Get(s.url + "status")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	m := counted.FindSubmatch(body)
	if m == nil {
		return 0, fmt.Errorf("no count in %q", body)
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 64)
	return n - 1, err
}
