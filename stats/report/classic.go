package report

import (
	"fmt"
	"io"

	"horde/stats"
)

// Classic writes the result as webbench 1.5 does: the two lines that scripts
// read, with its spelling and its arithmetic. Its speed counts failures too,
// its divisor is the time asked for, and it divides in single precision and
// cuts the rest off, all of which shows in the last digits. Counts are 64 bit,
// where webbench wraps around at 2^31.
func Classic(w io.Writer, r *stats.Run, _ stats.Verdict) error {
	seconds := float32(r.Plan.Duration.Seconds())
	if seconds <= 0 { // a run by number of requests, which webbench does not know
		seconds = float32(r.Measured.Seconds())
	}
	var speed, bytes int64
	if seconds > 0 {
		speed = int64(float32(r.Tally.Succeeded+r.Tally.Failed) / (seconds / 60))
		bytes = int64(float32(r.Tally.BytesRead) / seconds)
	}
	_, err := fmt.Fprintf(w, "\nSpeed=%d pages/min, %d bytes/sec.\nRequests: %d susceed, %d failed.\n",
		speed, bytes, r.Tally.Succeeded, r.Tally.Failed)
	return err
}
