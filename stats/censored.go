package stats

// Censored puts the requests that succeeded together with those that were still
// under way at the end. Of these only a lower bound is known, their age: they are
// right-censored. Without them a target that hangs has excellent percentiles.
type Censored struct{ all, done Histogram }

// NewCensored copies what it is given.
func NewCensored(done, ages *Histogram) *Censored {
	c := new(Censored)
	c.done.Add(done)
	c.all.Add(done)
	c.all.Add(ages)
	return c
}

// Count returns how many requests there are.
func (c *Censored) Count() uint64 { return c.all.count }

// AtLeast returns what quantile q of all requests is at least: as if the
// unfinished had ended when the run did.
func (c *Censored) AtLeast(q float64) int64 { return c.all.Quantile(q) }

// AtMost returns what it is at most: as if they never ended. known is false if
// the quantile is one of them.
func (c *Censored) AtMost(q float64) (ns int64, known bool) {
	rank := c.all.rank(q)
	return c.done.atRank(rank), rank <= c.done.count
}

// Exact reports whether the unfinished leave quantile q where it is, within two
// buckets.
func (c *Censored) Exact(q float64) bool {
	most, known := c.AtMost(q)
	return known && float64(most) <= float64(c.AtLeast(q))*(1+2.0/subCount)
}

// Matters reports whether they move any quantile up to q by more than that.
func (c *Censored) Matters(quantiles ...float64) bool {
	for _, q := range quantiles {
		if float64(c.AtLeast(q)) > float64(c.done.Quantile(q))*(1+2.0/subCount) {
			return true
		}
	}
	return false
}
