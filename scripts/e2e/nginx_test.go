package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A real server, whose own count of requests must agree with ours.

// nginx is an instance of its own on loopback, with its files in a scratch folder.
type nginx struct {
	t         *testing.T
	dir, addr string
	cmd       *exec.Cmd
}

const nginxConf = `
daemon off;
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections %[3]d; }
http {
	log_format brief "$status $bytes_sent";
	access_log %[1]s/access.log brief;
	keepalive_requests 1000000;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		location / { return 200 "hello world\n"; }
	}
}
`

func startNginx(t *testing.T, connections int) *nginx {
	t.Helper()
	need(t, "nginx")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &nginx{t: t, dir: t.TempDir(), addr: l.Addr().String()}
	require.NoError(t, l.Close())
	conf := fmt.Sprintf(nginxConf, n.dir, n.addr, connections)
	require.NoError(t, os.WriteFile(filepath.Join(n.dir, "nginx.conf"), []byte(conf), 0o644))
	n.start()
	t.Cleanup(func() { n.signal(syscall.SIGKILL) })
	return n
}

func (n *nginx) url() string { return "http://" + n.addr + "/" }

func (n *nginx) start() {
	n.t.Helper()
	n.cmd = exec.Command("nginx", "-p", n.dir, "-e", n.dir+"/error.log", "-c", n.dir+"/nginx.conf")
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(n.t, n.cmd.Start())
	require.Eventually(n.t, func() bool {
		nc, err := net.Dial("tcp", n.addr)
		if err == nil {
			nc.Close()
		}
		return err == nil
	}, 10*time.Second, 10*time.Millisecond, "nginx does not listen")
}

// signal sends to the master and its worker.
func (n *nginx) signal(s syscall.Signal) {
	if n.cmd.ProcessState == nil {
		_ = syscall.Kill(-n.cmd.Process.Pid, s)
		if s == syscall.SIGKILL {
			_ = n.cmd.Wait()
		}
	}
}

// quit lets nginx finish what it has begun.
func (n *nginx) quit() {
	assert.NoError(n.t, n.cmd.Process.Signal(syscall.SIGQUIT))
	_ = n.cmd.Wait()
}

// logged returns how many requests nginx has logged, in all and with status 200.
func (n *nginx) logged() (all, ok uint64) {
	n.t.Helper()
	log, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
	require.NoError(n.t, err)
	for line := range strings.Lines(string(log)) {
		all++
		if strings.HasPrefix(line, "200 ") {
			ok++
		}
	}
	return all, ok
}

func TestNginxCountsTheSame(t *testing.T) {
	for _, mode := range []string{"--keepalive", "--http11"} {
		for _, workers := range []string{"per-client", "auto"} {
			t.Run(mode+" "+workers, func(t *testing.T) {
				n := startNginx(t, 512)
				o := run(t, "-c", "50", "-t", "2", "-w", workers, mode, "--json", n.url()).json()
				o.onTime(2 * time.Second)
				n.quit()
				all, ok := n.logged()
				assert.LessOrEqual(t, o.Requests.Succeeded, ok)
				assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished, all)
				assert.Zero(t, o.Requests.Failed)
				assert.Greater(t, o.Requests.Succeeded, uint64(500))
				assert.Zero(t, o.code)
			})
		}
	}
}

func TestNginxOutOfConnections(t *testing.T) {
	n := startNginx(t, 20)
	o := run(t, "-c", "100", "-t", "3", "-k", "--json", n.url()).json()
	o.onTime(3 * time.Second)
	assert.Positive(t, o.Requests.Succeeded)
	assert.Positive(t, o.Requests.Failed)
	for _, f := range o.Failures {
		assert.Contains(t, []string{"empty_reply", "reset_wait", "reset_connect", "reset_body", "stale_conn"}, f.Class)
		assert.Contains(t, []string{"server", "race"}, f.Side)
	}
	n.quit()
	all, ok := n.logged()
	assert.LessOrEqual(t, o.Requests.Succeeded, ok)
	assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished+o.Requests.Failed, all)
}

func TestNginxStopsForTwoSeconds(t *testing.T) {
	n := startNginx(t, 512)
	p := launch{}.start(t, "-c", "20", "-t", "5", "-k", "--json", n.url())
	p.workers(20)
	time.Sleep(1500 * time.Millisecond)
	n.signal(syscall.SIGSTOP)
	time.Sleep(2 * time.Second)
	n.signal(syscall.SIGCONT)
	o := p.wait().json()
	o.onTime(5 * time.Second)
	assert.Zero(t, o.Requests.Failed)
	assert.GreaterOrEqual(t, o.slowest(), 1900*time.Millisecond)
	assert.Less(t, o.percentile("90"), time.Second)
	least := o.Requests.Succeeded
	for _, s := range o.Series[:min(5, len(o.Series))] {
		least = min(least, s.Succeeded)
	}
	assert.Less(t, least, o.Requests.Succeeded/20, "the stall shows in the series")
	n.quit()
	all, _ := n.logged()
	assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished, all)
}

func TestNginxRestartsInTheMiddle(t *testing.T) {
	n := startNginx(t, 512)
	p := launch{}.start(t, "-c", "10", "-t", "5", "--json", n.url())
	p.workers(10)
	time.Sleep(1500 * time.Millisecond)
	n.signal(syscall.SIGKILL)
	time.Sleep(time.Second)
	n.start()
	o := p.wait().json()
	o.onTime(5 * time.Second)
	assert.Positive(t, o.classes()["refused"])
	assert.Less(t, o.classes()["refused"], uint64(10*1000), "refused attempts are paced")
	require.NotEmpty(t, o.Series)
	assert.Positive(t, o.Series[min(4, len(o.Series)-1)].Succeeded, "success after the restart")
	assert.Zero(t, o.code)
	n.quit()
	_, ok := n.logged()
	assert.LessOrEqual(t, o.Requests.Succeeded, ok)
}
