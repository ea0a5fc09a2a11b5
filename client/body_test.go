package client

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"horde/client/http1"
	"horde/stats"
)

// Sums are of the body alone, chunk framing taken off, however it is cut.
func TestBodiesAreHeldAgainstWhatIsExpected(t *testing.T) {
	sum := func(body string) []byte {
		s := sha256.Sum256([]byte(body))
		return s[:]
	}
	const (
		chunked  = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n"
		streamed = "HTTP/1.1 200 OK\r\n\r\nhello"
		interim  = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + hello
	)
	for _, row := range []struct {
		name, answer string
		check        Check
		body         Body
		good         bool
	}{
		{"the length", hello, BodyLength, Body{Length: 5}, true},
		{"the length of chunks", chunked, BodyLength, Body{Length: 5}, true},
		{"another length", hello, BodyLength, Body{Length: 4}, false},
		{"the sum", hello, BodySum, Body{Sum: sum("hello")}, true},
		{"the sum of chunks", chunked, BodySum, Body{Sum: sum("hello")}, true},
		{"the sum up to the end of the stream", streamed, BodySum, Body{Sum: sum("hello")}, true},
		{"the sum behind an interim answer", interim, BodySum, Body{Sum: sum("hello")}, true},
		{"another sum", hello, BodySum, Body{Sum: sum("hallo")}, false},
		{"any", hello, AnyBody, Body{Length: 4}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			bothShapes(t, func(t *testing.T, clients int) {
				s := serve(t, func(p *peer) {
					for p.request() != "" {
						p.say(row.answer)
						if row.answer == streamed {
							return
						}
					}
				})
				plan := planOf(s.address(), clients, 20)
				plan.Check, plan.Entries[0].Body, plan.Reuse = row.check, row.body, true
				o := drive(t, plan)
				if row.good {
					assert.EqualValues(t, 20, o.Succeeded, o.endings())
					return
				}
				assert.Equal(t, map[ending]uint64{{stats.BodyMismatch, stats.Receiving, 0}: 20}, o.endings())
				assert.EqualValues(t, 20, o.statuses()[200], "its status counts")
				assert.LessOrEqual(t, o.Opened, uint64(clients), "its connection is kept")
			})
		})
	}
}

// An answer whose status is not expected has failed by that, whatever its body.
func TestTheStatusIsJudgedBeforeTheBody(t *testing.T) {
	s := serve(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
	})
	plan := planOf(s.address(), 1, 3)
	plan.Check, plan.Entries[0].Body = BodyLength, Body{Length: 5}
	assert.Equal(t, map[ending]uint64{{stats.HTTP5xx, stats.Receiving, 0}: 3}, drive(t, plan).endings())
}

func TestSampleNotesTheBodyOfEachEntry(t *testing.T) {
	s := serve(t, func(p *peer) {
		for head := p.request(); head != ""; head = p.request() {
			_, rest, _ := strings.Cut(head, " /")
			path, _, _ := strings.Cut(rest, " ")
			p.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path))
		}
	})
	plan := planOf(s.address(), 7, 100)
	plan.Reuse, plan.Check, plan.Order, plan.First = true, BodySum, AtRandom, 3
	plan.Entries = nil
	for _, path := range []string{"a", "bcd", ""} {
		plan.Entries = append(plan.Entries, Entry{Request: fmt.Appendf(nil, "GET /%s HTTP/1.1\r\nHost: test\r\n\r\n", path)})
	}
	require.NoError(t, Sample(&plan, nil))
	for i, path := range []string{"a", "bcd", ""} {
		sum := sha256.Sum256([]byte(path))
		assert.Equal(t, Body{Length: uint64(len(path)), Sum: sum[:]}, plan.Entries[i].Body)
	}
	assert.EqualValues(t, 3, s.requests.Load(), "one request for each entry")
	assert.EqualValues(t, 1, s.accepted.Load())
	o := drive(t, plan)
	assert.EqualValues(t, 100, o.Succeeded, o.endings())
}

func TestSampleSaysWhichRequestFailed(t *testing.T) {
	s := serve(t, func(p *peer) {
		for head := p.request(); head != ""; head = p.request() {
			if strings.HasPrefix(head, "GET") {
				p.say(hello)
			} else {
				p.say("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
			}
		}
	})
	plan := planOf(s.address(), 1, 1)
	plan.Entries = append(plan.Entries, Entry{Request: []byte("HEAD / HTTP/1.1\r\n\r\n"), Answer: http1.AnswerHead})
	assert.ErrorContains(t, Sample(&plan, nil), "request 2 of 2 is no good one: status 4xx")
	plan = planOf(closedPort(t), 1, 1)
	assert.ErrorContains(t, Sample(&plan, nil), "request 1 of 1 is no good one: connection refused")
}
