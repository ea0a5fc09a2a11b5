package report

import (
	"cmp"
	"slices"
	"time"

	"horde/stats"
)

// fullList is how many workers a result file lists one by one.
const fullList = 1000

func newWorkers(w *stats.Workers, overslept uint64) Workers {
	out := Workers{
		Asked: w.Asked, Started: w.Started, Lost: w.Lost, Pinned: w.Pinned, Batch: w.Batch,
		ReadyNS: int64(w.ReadyIn), Overslept: overslept, List: []Worker{}, Summary: w.Summary,
	}
	listed := w.List
	if len(listed) > fullList {
		out.Summary = summarise(w.List)
		listed = oddOnes(w.List)
	}
	for i := range listed {
		out.List = append(out.List, newWorker(&listed[i]))
	}
	return out
}

func newWorker(w *stats.Worker) Worker {
	out := Worker{
		ID: w.ID, Host: w.Host, PID: w.PID, Clients: w.Clients, Succeeded: w.Succeeded, Failed: w.Failed,
		Exit: w.Exit, Lost: w.Lost,
	}
	if !w.Lost {
		out.StartCPUNS, out.CPUNS = nanoseconds(w.StartCPU), nanoseconds(w.CPUTime)
		out.RunDelayNS, out.LagNS = nanoseconds(w.RunDelay), nanoseconds(w.Lag)
	}
	if w.CPU >= 0 {
		cpu := w.CPU
		out.CPU = &cpu
	}
	return out
}

// nanoseconds is nil for a time that is not known.
func nanoseconds(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	ns := int64(d)
	return &ns
}

func summarise(list []stats.Worker) *stats.WorkerSummary {
	ended := slices.DeleteFunc(slices.Clone(list), func(w stats.Worker) bool { return w.Lost })
	return &stats.WorkerSummary{
		Succeeded:  spread(list, func(w stats.Worker) uint64 { return w.Succeeded }),
		Failed:     spread(list, func(w stats.Worker) uint64 { return w.Failed }),
		StartCPUNS: spread(ended, func(w stats.Worker) int64 { return int64(w.StartCPU) }),
		CPUNS:      spread(ended, func(w stats.Worker) int64 { return int64(w.CPUTime) }),
		RunDelayNS: spread(ended, func(w stats.Worker) int64 { return int64(w.RunDelay) }),
		LagNS:      spread(ended, func(w stats.Worker) int64 { return int64(w.Lag) }),
	}
}

// spread is nil if there is nobody to show.
func spread[T cmp.Ordered](list []stats.Worker, value func(stats.Worker) T) *stats.Spread[T] {
	if len(list) == 0 {
		return nil
	}
	values := make([]T, len(list))
	for i, w := range list {
		values[i] = value(w)
	}
	slices.Sort(values)
	return &stats.Spread[T]{Min: values[0], Median: values[len(values)/2], Max: values[len(values)-1]}
}

// oddOnes picks from many workers every one that was lost or did not end as
// most did, and those with the least and the most to show: one of each.
func oddOnes(list []stats.Worker) []stats.Worker {
	usual := usualExit(list)
	odd := map[int]bool{}
	for i, w := range list {
		if w.Lost || w.Exit != usual {
			odd[i] = true
		}
	}
	extremes(odd, list, func(w stats.Worker) int64 { return int64(w.Succeeded) })
	extremes(odd, list, func(w stats.Worker) int64 { return int64(w.Failed) })
	extremes(odd, list, func(w stats.Worker) int64 { return int64(w.CPUTime) })
	extremes(odd, list, func(w stats.Worker) int64 { return int64(w.RunDelay) })
	extremes(odd, list, func(w stats.Worker) int64 { return int64(w.Lag) })
	var out []stats.Worker
	for i, w := range list {
		if odd[i] {
			out = append(out, w)
		}
	}
	return out
}

func extremes(odd map[int]bool, list []stats.Worker, value func(stats.Worker) int64) {
	least, most := 0, 0
	for i, w := range list {
		if value(w) < value(list[least]) {
			least = i
		}
		if value(w) > value(list[most]) {
			most = i
		}
	}
	odd[least], odd[most] = true, true
}

func usualExit(list []stats.Worker) string {
	counts := map[string]int{}
	usual := ""
	for _, w := range list {
		counts[w.Exit]++
		if counts[w.Exit] > counts[usual] {
			usual = w.Exit
		}
	}
	return usual
}
