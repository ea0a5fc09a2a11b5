package procs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListsOfCPUs(t *testing.T) {
	allowed := []int{0, 2, 3, 4, 63, 64, 1000}
	rows := []struct {
		name, list string
		want       []int
		problem    string
	}{
		{name: "one", list: "2", want: []int{2}},
		{name: "several, in the order given", list: "4,0,2", want: []int{4, 0, 2}},
		{name: "a range", list: "2-4", want: []int{2, 3, 4}},
		{name: "both", list: "0,2-3,63-64", want: []int{0, 2, 3, 63, 64}},
		{name: "a range of one", list: "1000-1000", want: []int{1000}},
		{name: "one twice, to have it twice as often", list: "2,2,3", want: []int{2, 2, 3}},
		{name: "one that is not allowed", list: "1", problem: "CPU 1 is not among"},
		{name: "a range with one that is not allowed", list: "0-2", problem: "CPU 1 is not among"},
		{name: "the widest range", list: "0-65535", problem: "CPU 1 is not among"},
		{name: "nothing", list: "", problem: `"" is not a CPU number`},
		{name: "a comma too much", list: "0,", problem: `"" is not a CPU number`},
		{name: "a range backwards", list: "3-2", problem: `"3-2" is not a CPU number`},
		{name: "an open range", list: "2-", problem: `"2-" is not a CPU number`},
		{name: "a range of ranges", list: "0-2-3", problem: `"0-2-3" is not a CPU number`},
		{name: "a negative number", list: "-1", problem: `"-1" is not a CPU number`},
		{name: "a sign", list: "+2", problem: `"+2" is not a CPU number`},
		{name: "a space", list: "0, 2", problem: `" 2" is not a CPU number`},
		{name: "words", list: "all", problem: `"all" is not a CPU number`},
		{name: "hexadecimal", list: "0x2", problem: `"0x2" is not a CPU number`},
		{name: "a number beyond all", list: "99999999999999999999", problem: "is not a CPU number"},
	}
	for _, row := range rows {
		got, err := ParseCPUs(row.list, allowed)
		if row.problem != "" {
			assert.ErrorContains(t, err, row.problem, row.name)
			assert.Nil(t, got, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		assert.Equal(t, row.want, got, row.name)
	}
}

func FuzzParseCPUs(f *testing.F) {
	f.Add("0,2-3")
	f.Add("0-65535,1")
	f.Fuzz(func(t *testing.T, list string) {
		allowed := []int{0, 1, 2, 3, 70}
		cpus, err := ParseCPUs(list, allowed)
		if err != nil {
			require.Empty(t, cpus)
			return
		}
		require.NotEmpty(t, cpus)
		require.Subset(t, allowed, cpus)
	})
}

func TestACPUThatIsNotThereCannotBeBoundTo(t *testing.T) {
	require.Error(t, bindThread(1023))
}

// Workers whose CPU was taken away meanwhile run unbound, and are not counted as bound.
func TestWorkersOfACPUThatIsNotThereRunUnbound(t *testing.T) {
	leaveNothing(t)
	r := newRun(Options{Plan: serve(t).plan(2, 100_000_000), Workers: 2, CPUs: []int{1023}})
	out, err := r.perform()
	require.NoError(t, err)
	assertBalance(t, r, out)
	assert.Zero(t, out.Workers.Pinned)
	assert.Zero(t, out.Workers.Lost)
	assert.Equal(t, -1, out.Workers.List[0].CPU)
}
