package ceiling

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	"horde/client"
	"horde/stats"
)

// Shape is what decides how much load a host can generate: of two runs of one
// shape, either may be held against the ceiling of the other. What a request
// costs changes little between powers of two, to which sizes and numbers are
// rounded up; what changes from boot to boot is not in it.
type Shape struct {
	Version  string  `json:"version"` // of horde
	Kernel   string  `json:"kernel"`
	CPUModel string  `json:"cpu_model"`
	CPUs     []int   `json:"cpus"`       // that this process may use
	Quota    float64 `json:"quota_cpus"` // that control groups allow, 0 = no limit

	Clients   int   `json:"clients"`
	Processes int   `json:"processes"`
	Pinned    []int `json:"pinned"` // CPUs the workers are bound to
	KeepAlive bool  `json:"keepalive"`
	TLS       bool  `json:"tls"`
	Force     bool  `json:"force"`
	Coalesce  bool  `json:"coalesce"`
	Batch     bool  `json:"batch"`
	Request   int   `json:"request_bytes"` // on average
	Answer    int   `json:"answer_bytes"`
}

// ShapeOf is the shape of a run that has ended, with so many workers bound to pinned.
func ShapeOf(r *stats.Run, plan *client.Plan, allowed, pinned []int, workers int) Shape {
	s := Shape{
		Version: r.Tool.Version, CPUs: allowed, Pinned: pinned,
		Clients: roundUp(plan.Clients), Processes: roundUp(workers),
		KeepAlive: plan.Reuse, TLS: plan.TLS != nil, Force: plan.Force, Coalesce: plan.Coalesce, Batch: plan.Batch,
		Request: roundUp(requestSize(plan)), Answer: roundUp(mean(r.Tally.BytesRead, r.Tally.Succeeded)),
	}
	if r.Host.Begin != nil {
		facts := r.Host.Begin.Facts
		s.Kernel, s.CPUModel = facts["kernel.osrelease"].Value, facts["cpuinfo/model name"].Value+facts["cpuinfo/CPU part"].Value
	}
	if r.Generator != nil {
		s.Quota = r.Generator.Quota
	}
	return s
}

// BodySize is the size of an answer's body in a run that has ended, on average.
func BodySize(r *stats.Run) int64 { return int64(mean(r.Tally.BytesBody, r.Tally.Succeeded)) }

func mean(sum, n uint64) int {
	if n == 0 {
		return 0
	}
	return int(sum / n)
}

func requestSize(p *client.Plan) int {
	sum := 0
	for i := range p.Entries {
		sum += len(p.Entries[i].Request)
	}
	return mean(uint64(sum), uint64(len(p.Entries)))
}

// roundUp returns the least power of two that is not below n.
func roundUp(n int) int {
	if n <= 1 {
		return n
	}
	return 1 << bits.Len(uint(n-1))
}

// record is what a file holds.
type record struct {
	Schema    string    `json:"schema"`
	Shape     Shape     `json:"shape"`
	PerSecond float64   `json:"requests_per_sec"`
	SpanNS    int64     `json:"measured_ns"`
	At        time.Time `json:"measured_at"`
}

const schema = "horde.ceiling/1"

// file is where the ceiling of a shape is kept: horde's directory in the user's
// cache ($XDG_CACHE_HOME, or ~/.cache), a file for each shape.
func (s *Shape) file() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(dir, "horde", "ceiling-"+hex.EncodeToString(sum[:8])+".json"), nil
}

// Remember keeps a ceiling for later runs of its shape.
func Remember(s Shape, c *stats.Ceiling) error {
	if err := remember(s, c); err != nil {
		return fmt.Errorf("the ceiling could not be remembered: %w", err)
	}
	return nil
}

func remember(s Shape, c *stats.Ceiling) error {
	name, err := s.file()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(record{schema, s, c.PerSecond, int64(c.Span), c.At.UTC().Truncate(time.Second)}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".ceiling-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// Recall returns the ceiling of a shape, nil if none was measured.
func Recall(s Shape) (*stats.Ceiling, error) {
	name, err := s.file()
	if err != nil {
		return nil, nil // without a place for it, nothing was remembered
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && (r.Schema != schema || !(r.PerSecond > 0) || r.SpanNS <= 0) {
		err = errors.New("it holds no ceiling")
	}
	if err != nil {
		return nil, fmt.Errorf("the remembered ceiling %s cannot be read: %w", name, err)
	}
	return &stats.Ceiling{PerSecond: r.PerSecond, Span: time.Duration(r.SpanNS), At: r.At}, nil
}
