package nullserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// parentEnv makes the test binary a parent that starts a server, tells the
// pids of its processes and waits to be killed.
const parentEnv = "HORDE_NULLSERVER_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		beParent()
	}
	os.Exit(m.Run())
}

func beParent() {
	s, err := Start(Options{Processes: 2})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, p := range s.processes {
		fmt.Println(p.process.Pid)
	}
	select {}
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = s.Stop() })
	return s
}

func TestCountsAreExact(t *testing.T) {
	for _, processes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			s := start(t, Options{Processes: processes})
			const clients, exchanges = 40, 50
			request := get("/") + "HEAD / HTTP/1.1\r\n\r\n" + get("/fault/status:500")
			want := len(ok) + len(ok) - 12 + len(strings.Replace(ok, "200 OK", "500 Internal Server Error", 1))
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					c, err := net.Dial("tcp", s.Addr().String())
					if !assert.NoError(t, err) {
						return
					}
					defer c.Close()
					for range exchanges {
						_, err := io.WriteString(c, request)
						assert.NoError(t, err)
						_, err = io.CopyN(io.Discard, c, int64(want))
						assert.NoError(t, err)
					}
				})
			}
			all.Wait()
			live := s.Counts()
			counts, err := s.Stop()
			require.NoError(t, err)
			assert.Equal(t, Counts{clients, 3 * clients * exchanges, clients * exchanges, uint64(clients * exchanges * len(request)), uint64(clients * exchanges * want)}, counts)
			assert.LessOrEqual(t, live.Requests, counts.Requests) // the last answers may not be counted yet
			assert.Equal(t, counts.BytesRead, live.BytesRead)
			assert.Equal(t, counts, s.Counts())
		})
	}
}

func TestListensWhereItIsTold(t *testing.T) {
	for listen, want := range map[string]string{"": "127.0.0.1", "127.0.0.2:0": "127.0.0.2", "[::1]:0": "::1", "localhost:0": "127.0.0.1", "[::ffff:127.0.0.1]:0": "127.0.0.1"} {
		t.Run(listen, func(t *testing.T) {
			s := start(t, Options{Listen: listen, Fault: parse(t, "lower")})
			assert.Equal(t, want, s.Addr().Addr().String())
			assert.NotZero(t, s.Addr().Port())
			got, _ := answerOf(t, s.Addr().String(), get("/"), len(ok))
			assert.Contains(t, got, "content-length: 12\r\n")
		})
	}
}

func TestStartRefuses(t *testing.T) {
	taken := start(t, Options{})
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"a name":               {Options{Listen: "example.org:80"}, `listen address "example.org:80" is not an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080`},
		"no port":              {Options{Listen: "127.0.0.1"}, `listen address "127.0.0.1" is not an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080`},
		"a zone":               {Options{Listen: "[fe80::1%lo]:80"}, `listen address "[fe80::1%lo]:80" is not an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080`},
		"a port in use":        {Options{Listen: taken.Addr().String()}, fmt.Sprintf("listen on %q: bind: address already in use", taken.Addr())},
		"a negative body size": {Options{BodySize: -1, Processes: 1}, "processes 1, body size -1, backlog 65535: none may be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(c.o)
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestStartAndStopLeaveNothingBehind(t *testing.T) {
	once := func(t *testing.T) {
		s, err := Start(Options{Processes: 3})
		require.NoError(t, err)
		_, _ = answerOf(t, s.Addr().String(), "GET / HTTP/1.0\r\n\r\n", len(okClosing))
		_, err = s.Stop()
		require.NoError(t, err)
		_, err = s.Stop()
		require.NoError(t, err)
		_, isOpen := <-s.Done()
		assert.False(t, isOpen)
	}
	t.Run("once", once) // the runtime opens its poller with the first pipe
	before, mapped := descriptors(t), mappings(t)
	for range 5 {
		t.Run("again", once)
	}
	assert.Equal(t, before, descriptors(t))
	assert.Equal(t, mapped, mappings(t))
	assert.Empty(t, children(t))
}

func TestStartThatFailsLeavesNothingBehind(t *testing.T) {
	start(t, Options{})
	before, processes := descriptors(t), children(t)
	withoutDescriptors(t, func() {
		_, err := Start(Options{Processes: 2})
		assert.ErrorIs(t, err, syscall.EMFILE)
	})
	_, err := Start(Options{Fault: parse(t, "lower"), Listen: "192.0.2.1:0", Processes: 2})
	require.ErrorIs(t, err, syscall.EADDRNOTAVAIL)
	assert.Equal(t, before, descriptors(t))
	assert.Equal(t, processes, children(t))
}

func TestAProcessThatDiedIsNamed(t *testing.T) {
	s := start(t, Options{Processes: 2})
	got, _ := answerOf(t, s.Addr().String(), get("/"), len(ok))
	assert.Equal(t, ok, got)
	pid := s.processes[1].process.Pid
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	<-s.Done()
	counts, err := s.Stop()
	require.EqualError(t, err, fmt.Sprintf("serving process %d: signal: killed", pid))
	assert.Equal(t, uint64(1), counts.Requests)
}

func TestAProcessThatWasPutAStrangeLineEnds(t *testing.T) {
	for name, args := range map[string][]string{
		"no arguments":    {childName},
		"no number":       {childName, "addr", "x", "12", "1", "0", "none"},
		"no fault":        {childName, "addr", "0", "12", "1", "0", "x"},
		"no descriptors":  {childName, "addr", "0", "12", "1", "0", "none"},
		"no such counter": {childName, "addr", "-1", "12", "1", "0", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Args = args
			out, err := cmd.CombinedOutput()
			assert.EqualError(t, err, "exit status 1")
			assert.Contains(t, string(out), childName+": ")
		})
	}
}

func TestProcessesHoldAsManyDescriptorsAsTheyMay(t *testing.T) {
	s := start(t, Options{})
	answerOf(t, s.Addr().String(), get("/"), len(ok)) // it is up
	var ours, theirs unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &ours))
	require.NoError(t, unix.Prlimit(s.processes[0].process.Pid, unix.RLIMIT_NOFILE, nil, &theirs))
	assert.Equal(t, ours.Max, theirs.Cur)
}

func TestProcessesDieWithTheParent(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped before: %v", stopped), func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), parentEnv+"=1")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			defer func() { _ = cmd.Process.Kill() }()
			lines := bufio.NewScanner(out)
			var pidfds []unix.PollFd
			for range 2 {
				require.True(t, lines.Scan())
				pid, err := strconv.Atoi(lines.Text())
				require.NoError(t, err)
				fd, err := unix.PidfdOpen(pid, 0)
				require.NoError(t, err)
				defer unix.Close(fd)
				if stopped {
					require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
				}
				pidfds = append(pidfds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			}
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			for i := range pidfds {
				assert.True(t, pollOne(pidfds[i:i+1]), "serving process %d outlived its parent", i)
			}
		})
	}
}

// pollOne waits for the event, whatever signals come between.
func pollOne(fds []unix.PollFd) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if n, _ := unix.Poll(fds, 100); n > 0 {
			return true
		}
	}
	return false
}

func children(t *testing.T) (pids []string) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err == nil {
			pids = append(pids, strings.Fields(string(list))...)
		}
	}
	slices.Sort(pids)
	return pids
}

func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "horde-counts")
}
