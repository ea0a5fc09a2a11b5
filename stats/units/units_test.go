package units

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func before(x float64) float64 { return math.Nextafter(x, 0) }

func TestDurationAtTheEdgesOfEachUnit(t *testing.T) {
	for _, row := range []struct {
		ns   float64
		want string
	}{
		{0, "0 ns"},
		{0.4, "0 ns"},
		{1, "1 ns"},
		{999, "999 ns"},
		{before(999.5), "999 ns"},
		{before(1e3), "1.00 us"},
		{1e3, "1.00 us"},
		{9.99e3, "9.99 us"},
		{9.995e3, "10.0 us"},
		{before(1e4), "10.0 us"},
		{1e4, "10.0 us"},
		{99.95e3, "100 us"},
		{before(1e5), "100 us"},
		{999.4e3, "999 us"},
		{before(1e6), "1.00 ms"},
		{1e6, "1.00 ms"},
		{before(1e9), "1.00 s"},
		{1e9, "1.00 s"},
		{59.94e9, "59.9 s"},
		{before(60e9), "1.00 min"},
		{60e9, "1.00 min"},
		{before(3600e9), "1.00 h"},
		{3600e9, "1.00 h"},
		{1000 * 3600e9, "1000 h"},
		{math.MaxInt64, "2562048 h"},
		{-1500, "-1.50 us"},
		{math.NaN(), "n/a"},
		{math.Inf(1), "n/a"},
		{math.Inf(-1), "n/a"},
	} {
		assert.Equal(t, row.want, Duration(row.ns), "%v ns", row.ns)
	}
}

func TestBytesAtTheEdgesOfEachUnit(t *testing.T) {
	for _, row := range []struct {
		n    float64
		want string
	}{
		{0, "0 B"}, {12, "12 B"}, {999, "999 B"},
		{before(1e3), "1.00 kB"}, {1e3, "1.00 kB"},
		{before(1e6), "1.00 MB"}, {1e6, "1.00 MB"}, {14303044, "14.3 MB"},
		{before(1e9), "1.00 GB"}, {1e9, "1.00 GB"},
		{before(1e12), "1.00 TB"}, {1e12, "1.00 TB"},
		{before(1e15), "1.00 PB"}, {1e15, "1.00 PB"}, {1e18, "1000 PB"},
	} {
		assert.Equal(t, row.want, Bytes(row.n), "%v bytes", row.n)
	}
}

func TestAColumnHasTheUnitOfItsMedian(t *testing.T) {
	for _, row := range []struct {
		least, median time.Duration
		unit          string
	}{
		{0, 0, "ns"},
		{1, 999, "ns"},
		{1, 1000, "us"},
		{time.Microsecond, time.Millisecond - 1, "us"},
		{time.Microsecond, time.Millisecond, "ms"},
		{time.Microsecond - 1, time.Millisecond, "us"}, // 0.000 ms would say nothing
		{time.Second, time.Second, "s"},
		{20 * time.Microsecond, time.Second, "ms"},
		{time.Hour, time.Hour, "s"},
	} {
		assert.Equal(t, row.unit, Column(int64(row.least), int64(row.median)).Name, "%v %v", row.least, row.median)
	}
}

func TestAColumnIsWrittenInItsUnit(t *testing.T) {
	ms := Column(1e6, 1e6)
	assert.Equal(t, "0.012", ms.Write(12345))
	assert.Equal(t, "100000.000", ms.Write(100e9))
	assert.Equal(t, "n/a", ms.Write(math.NaN()))
	assert.Equal(t, "12.3", Column(1, 1e3).Write(12345))
	assert.Equal(t, "12345", Column(1, 1).Write(12345))
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 999999: "999,999", 1692407: "1,692,407",
		4400000000: "4,400,000,000", math.MaxUint64: "18,446,744,073,709,551,615",
	} {
		assert.Equal(t, want, Count(n))
	}
}

func TestShortCountsFitInSixCharacters(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999999: "999999", 1000000: "1.00M", 9994999: "9.99M", 9995000: "10.0M", 999499999: "999M",
		999500000: "1.00G", 4400000000: "4.40G", 999499999999: "999G", 999500000000: "1.00T", 1e15: "1000T",
	} {
		assert.Equal(t, want, Short(n))
		assert.LessOrEqual(t, len(Short(n)), 6)
	}
}

func TestRate(t *testing.T) {
	for _, row := range []struct {
		perSecond float64
		want      string
	}{
		{0, "0"}, {1e-9, "<0.01"}, {before(0.005), "<0.01"}, {0.5, "0.50"}, {9.99, "9.99"}, {before(9.995), "9.99"},
		{before(10), "10.0"}, {99.9, "99.9"}, {before(100), "100"}, {100, "100"}, {28206.78, "28,207"}, {4.4e9, "4,400,000,000"},
		{-1, "n/a"}, {math.NaN(), "n/a"}, {math.Inf(1), "n/a"},
	} {
		assert.Equal(t, row.want, Rate(row.perSecond), "%v", row.perSecond)
	}
}

func TestOnlyNothingIs0AndOnlyAllIs100PerCent(t *testing.T) {
	for _, row := range []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, "n/a"}, {5, 0, "n/a"}, {0, 7, "0 %"}, {7, 7, "100 %"},
		{1, math.MaxUint64, "<0.01 %"}, {1, 10001, "<0.01 %"}, {1, 10000, "0.01 %"}, {32, 1000, "3.2 %"},
		{9999, 10000, "99.99 %"}, {99999, 100000, ">99.99 %"}, {1, 3, "33.33 %"}, {3, 2, "150 %"},
	} {
		assert.Equal(t, row.want, Share(row.part, row.whole), "%d of %d", row.part, row.whole)
	}
	assert.Equal(t, "n/a", Percent(math.NaN()))
	assert.Equal(t, "n/a", Percent(math.Inf(1)))
}
