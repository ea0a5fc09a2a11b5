package stats

// Jain returns the fairness index of what each of several has got: 1 if all have
// the same, 1/n if one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984).
// known is false if nobody has anything.
func Jain(shares *Histogram) (index float64, known bool) {
	if shares.sum == 0 {
		return 0, false
	}
	return min(1, shares.sum*shares.sum/(float64(shares.count)*shares.sumSq)), true
}

// Zeros returns how many of the values are 0.
func (h *Histogram) Zeros() uint64 {
	for i, n := range h.Filled() {
		if i == 0 {
			return n
		}
		break
	}
	return 0
}
