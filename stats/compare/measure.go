package compare

import "math"

// measure is how a metric is taken from a run.
type measure struct {
	name       string
	kind       Kind
	resolution float64 // what two values may differ by for their rounding alone, as a share
	value      func(*Run) (v float64, known bool)
	scaled     func(*Run) float64 // the value on the scale it is judged on
	thin       func(*Run) bool    // too few answers to speak of it; nil: never
}

// bucket is the widest bucket of a latency histogram, as a share of its value.
const bucket = 1.0 / 128

// quantiles are those of the latency that are compared.
var quantiles = []struct {
	name string
	rest float64 // share of the answers beyond
}{{"50", 0.5}, {"75", 0.25}, {"90", 0.1}, {"99", 0.01}, {"99.9", 0.001}}

// fewestBeyond is how many answers must be slower for a run to speak of a quantile.
const fewestBeyond = 10

var measures = func() []measure {
	list := []measure{
		{name: "throughput", kind: Rate, value: throughput, scaled: logarithm(throughput)},
		{name: "failed share", kind: Share, value: failedShare, scaled: failedOdds},
	}
	for _, q := range quantiles {
		value := latency(q.name)
		list = append(list, measure{name: "latency p" + q.name, kind: Duration, resolution: bucket, value: value, scaled: logarithm(value),
			thin: func(r *Run) bool { return float64(r.Succeeded)*q.rest < fewestBeyond }})
	}
	value := latency("max")
	return append(list, measure{name: "latency max", kind: Duration, value: value, scaled: logarithm(value)})
}()

func logarithm(value func(*Run) (float64, bool)) func(*Run) float64 {
	return func(r *Run) float64 {
		v, _ := value(r)
		return math.Log(v)
	}
}

func throughput(r *Run) (float64, bool) {
	if r.Measured <= 0 {
		return 0, false
	}
	return float64(r.Succeeded) / r.Measured.Seconds(), true
}

func latency(quantile string) func(*Run) (float64, bool) {
	return func(r *Run) (float64, bool) {
		ns, known := r.Latency[quantile]
		return ns, known && ns > 0
	}
}

func failedShare(r *Run) (float64, bool) {
	ended := r.Succeeded + r.Failed
	return float64(r.Failed) / float64(ended), ended > 0
}

// failedOdds are the log-odds of failing, half a request added to either side:
// so that none failed has a logarithm, and bursts weigh less.
func failedOdds(r *Run) float64 {
	return math.Log((float64(r.Failed) + 0.5) / (float64(r.Succeeded) + 0.5))
}

// take reads the metric of every run of a side.
func (m *measure) take(runs []Run) Values {
	v := Values{Each: make([]float64, len(runs))}
	var logs float64
	var failed, ended uint64
	for i := range runs {
		value, known := m.value(&runs[i])
		if !known {
			v.Missing++
			value = math.NaN()
		}
		v.Each[i] = value
		logs += math.Log(value)
		failed += runs[i].Failed
		ended += runs[i].Failed + runs[i].Succeeded
	}
	v.Typical = math.Exp(logs / float64(len(runs)))
	if m.kind == Share {
		v.Typical = float64(failed) / float64(ended)
	}
	return v
}

func (m *measure) scale(runs []Run) []float64 {
	scaled := make([]float64, len(runs))
	for i := range runs {
		scaled[i] = m.scaled(&runs[i])
	}
	return scaled
}
