package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

// sometimes answers every fourth request with another body.
func sometimes(other string) func(*conn) {
	return func(c *conn) {
		for c.request() && c.take() {
			if c.nthInAll()%4 == 3 {
				c.answer(other)
			} else {
				c.answer(ok5)
			}
		}
	}
}

func TestBodiesThatDifferFailIfAskedTo(t *testing.T) {
	t.Parallel()
	const (
		longer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!"
		alike  = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHELLO"
	)
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("hello")))
	for _, row := range []struct {
		what, other string
		sampled     int
		failed      uint64
	}{
		{"length:5", longer, 0, 10},
		{"length:5", alike, 0, 0},
		{sum, alike, 0, 10},
		{"first-length", longer, 1, 10},
		{"first-sha256", alike, 1, 10},
	} {
		t.Run(row.what+" "+row.other[len(row.other)-6:], func(t *testing.T) {
			t.Parallel()
			s := serve(t, unlimited, sometimes(row.other))
			o := run(t, "-c", "1", "-n", "40", "-k", "--json", "--expect-body", row.what, s.url()).json()
			o.counts(40-row.failed, row.failed, 0)
			assert.Equal(t, row.failed, o.classes()["body_mismatch"])
			assert.Len(t, s.seen(), 40+row.sampled)
			assert.Zero(t, o.code)
		})
	}
}

func TestAFirstAnswerThatIsNoGoodOneEndsIt(t *testing.T) {
	t.Parallel()
	s := serve(t, unlimited, keepOpen("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
	o := run(t, "-n", "5", "--expect-body", "first-length", s.url())
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "--expect-body: the first answer to request 1 of 1 is no good one: status 5xx")
	assert.Len(t, s.seen(), 1)
}

func TestABodyIsSentWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, option := range [][]string{{"--expect-continue"}, {"-H", "Expect: 100-continue"}} {
		s := serve(t, unlimited, func(c *conn) {
			for c.head() && c.take() {
				if c.watch(pieceGap) != quiet {
					return // it did not wait
				}
				c.send("HTTP/1.1 100 Continue\r\n\r\n")
				if _, err := io.CopyN(io.Discard, c.r, 5); err != nil || !c.answer(ok5) {
					return
				}
			}
		})
		o := run(t, append(option, "-c", "2", "-n", "6", "-k", "--json", "--data", "hello", s.url())...)
		o.json().counts(6, 0, 0)
		assert.Equal(t, []string{"100-continue"}, fields(s.firstRequest(t).head, "expect"))
	}
}
