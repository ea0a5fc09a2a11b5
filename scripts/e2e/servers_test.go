package e2e

import (
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// More real servers, whose own counts must agree with ours.

// daemon is a server program in the foreground, with its files in a scratch
// folder.
type daemon struct {
	t         *testing.T
	dir, addr string
	cmd       *exec.Cmd
}

// startDaemon writes a configuration, in which DIR and ADDR stand for the
// scratch folder and a free address, and starts the program that reads it.
func startDaemon(t *testing.T, file, conf string, line func(*daemon) []string) *daemon {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &daemon{t: t, dir: t.TempDir(), addr: l.Addr().String()}
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(d.addr)
	conf = strings.NewReplacer("DIR", d.dir, "ADDR", d.addr, "PORT", port).Replace(conf)
	require.NoError(t, os.MkdirAll(filepath.Dir(d.path(file)), 0o755))
	require.NoError(t, os.WriteFile(d.path(file), []byte(conf), 0o644))
	words := line(d)
	d.cmd = exec.Command(words[0], words[1:]...)
	log, err := os.Create(d.path("output"))
	require.NoError(t, err)
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, d.cmd.Start())
	t.Cleanup(d.kill)
	require.Eventually(t, d.listens, 60*time.Second, 20*time.Millisecond, "%s does not listen", words[0])
	return d
}

func (d *daemon) path(name string) string { return filepath.Join(d.dir, name) }

func (d *daemon) listens() bool {
	nc, err := net.Dial("tcp", d.addr)
	if err == nil {
		nc.Close()
	}
	return err == nil
}

func (d *daemon) kill() {
	if d.cmd.ProcessState == nil {
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		_ = d.cmd.Wait()
	}
	if said, err := os.ReadFile(d.path("output")); err == nil && d.t.Failed() {
		d.t.Logf("%s said:\n%s", filepath.Base(d.cmd.Path), brief(string(said)))
	}
}

// quit lets it finish what it has begun.
func (d *daemon) quit(s syscall.Signal) {
	assert.NoError(d.t, d.cmd.Process.Signal(s))
	_ = d.cmd.Wait()
}

// served holds our count against a server's, of answers with status 200.
func (o *outcome) served(ok uint64) {
	o.t.Helper()
	assert.Zero(o.t, o.code)
	assert.Zero(o.t, o.Requests.Failed, "%v", o.classes())
	assert.Greater(o.t, o.Requests.Succeeded, uint64(200))
	assert.LessOrEqual(o.t, o.Requests.Succeeded, ok, "succeeded, and answered by the server")
	assert.GreaterOrEqual(o.t, o.Requests.Succeeded+o.Requests.Unfinished, ok, "the rest was unfinished")
	o.t.Logf("%d succeeded and %d unfinished here, %d answered there", o.Requests.Succeeded, o.Requests.Unfinished, ok)
}

const haproxyConf = `
global
	maxconn 1000
	stats socket DIR/stats.sock level admin
defaults
	mode http
	timeout connect 5s
	timeout client 30s
	timeout server 30s
	OPTION
frontend front
	bind ADDR
	default_backend back
backend back
	server nginx BACK
`

// startHAProxy starts it in front of another server.
func startHAProxy(t *testing.T, option, back string) *daemon {
	t.Helper()
	need(t, "haproxy")
	conf := strings.NewReplacer("OPTION", option, "BACK", back).Replace(haproxyConf)
	return startDaemon(t, "haproxy.cfg", conf, func(d *daemon) []string {
		return []string{"haproxy", "-db", "-f", d.path("haproxy.cfg")}
	})
}

// answered is how many answers of class 2xx the frontend has sent, by the
// statistics on its socket.
func (d *daemon) answered() uint64 {
	d.t.Helper()
	nc, err := net.Dial("unix", d.path("stats.sock"))
	require.NoError(d.t, err)
	defer nc.Close()
	_, err = io.WriteString(nc, "show stat\n")
	require.NoError(d.t, err)
	table, err := io.ReadAll(nc)
	require.NoError(d.t, err)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(strings.TrimSpace(string(table)), "# "))).ReadAll()
	require.NoError(d.t, err)
	for _, row := range rows[1:] {
		for i, name := range rows[0] {
			if row[0] == "front" && name == "hrsp_2xx" {
				n, err := strconv.ParseUint(row[i], 10, 64)
				require.NoError(d.t, err)
				return n
			}
		}
	}
	require.Fail(d.t, "no count in the statistics", "%s", table)
	return 0
}

func TestHAProxyCountsTheSame(t *testing.T) {
	for _, option := range []string{"option http-keep-alive", "option http-server-close"} {
		for _, mode := range []string{"--keepalive", "--http11"} {
			t.Run(option+" "+mode, func(t *testing.T) {
				n := startNginx(t, 512)
				h := startHAProxy(t, option, n.addr)
				o := run(t, "-c", "30", "-t", "1", mode, "--json", "http://"+h.addr+"/").json()
				o.served(h.answered())
				h.quit(syscall.SIGUSR1)
				n.quit()
				_, behind := n.logged()
				assert.LessOrEqual(t, o.Requests.Succeeded, behind)
				assert.GreaterOrEqual(t, o.Requests.Succeeded+o.Requests.Unfinished, behind)
				if mode == "--keepalive" {
					assert.EqualValues(t, 30, o.Connections.Opened, "the client's side is kept all the same")
				}
			})
		}
	}
}

const tomcatConf = `
<Server port="-1">
  <Service name="Catalina">
    <Connector address="127.0.0.1" port="PORT" protocol="HTTP/1.1"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="webapps">
        <Context path="/examples" docBase="/usr/share/tomcat10-examples/examples"/>
        <Valve className="org.apache.catalina.valves.AccessLogValve" directory="DIR" prefix="access" suffix=".log"
          rotatable="false" buffered="false" pattern="%s %B"/>
      </Host>
    </Engine>
  </Service>
</Server>
`

// startTomcat starts Debian's Tomcat with its examples.
func startTomcat(t *testing.T) *daemon {
	t.Helper()
	need(t, "java")
	const home = "/usr/share/tomcat10"
	for _, part := range []string{home + "/bin/bootstrap.jar", home + "-examples/examples"} {
		if _, err := os.Stat(part); err != nil {
			t.Skipf("%v: install tomcat10 and tomcat10-examples", err)
		}
	}
	return startDaemon(t, "conf/server.xml", tomcatConf, func(d *daemon) []string {
		require.NoError(t, os.Symlink("/etc/tomcat10/web.xml", d.path("conf/web.xml")))
		return []string{
			"java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dcatalina.home=" + home, "-Dcatalina.base=" + d.dir,
			"-Djava.io.tmpdir=" + d.dir, "-cp", home + "/bin/bootstrap.jar:" + home + "/bin/tomcat-juli.jar",
			"org.apache.catalina.startup.Bootstrap", "start",
		}
	})
}

// logged is how many answers of status 200 its access log has.
func (d *daemon) logged() (n uint64) {
	d.t.Helper()
	log, err := os.ReadFile(d.path("access.log"))
	require.NoError(d.t, err)
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, "200 ") {
			n++
		}
	}
	return n
}

// Its answers have no reason in the status line, and it closes a kept connection
// after 100 requests.
func TestTomcatCountsTheSame(t *testing.T) {
	d := startTomcat(t)
	url := fmt.Sprintf("http://%s/examples/servlets/servlet/HelloWorldExample", d.addr)
	run(t, "-n", "1", "--json", url).json().counts(1, 0, 0) // the servlet is loaded
	for _, mode := range []string{"--keepalive", "--http11"} {
		t.Run(mode, func(t *testing.T) {
			before := d.logged()
			o := run(t, "-c", "20", "-t", "1", mode, "--json", url).json()
			require.Eventually(t, func() bool { return d.logged()-before >= o.Requests.Succeeded }, 5*time.Second, 20*time.Millisecond)
			o.served(d.logged() - before)
			if mode == "--keepalive" {
				assert.Greater(t, o.Connections.Opened, o.Requests.Succeeded/100)
				assert.Less(t, o.Connections.Opened, o.Requests.Succeeded/50+20)
			}
		})
	}
}
