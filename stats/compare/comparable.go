package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// differences names what makes the sides different experiments.
func differences(before, after []Run) []string {
	var out []string
	for _, key := range planKeys(before, after) {
		b, a := planned(before, key), planned(after, key)
		if !slices.Equal(b, a) || len(b) > 1 {
			out = append(out, fmt.Sprintf("%s: %s before, %s after", strings.TrimSuffix(key, "_ns"), strings.Join(b, " and "), strings.Join(a, " and ")))
		}
	}
	if b, a := versions(before, major), versions(after, major); b != a {
		out = append(out, fmt.Sprintf("major version of horde: %s before, %s after", b, a))
	}
	out = append(out, unsound(before, "before")...)
	out = append(out, unsound(after, "after")...)
	if onOneSide(limited(before), len(before), limited(after)) || onOneSide(limited(after), len(after), limited(before)) {
		out = append(out, fmt.Sprintf("limited by the generator: %d of %d runs before, %d of %d after",
			limited(before), len(before), limited(after), len(after)))
	}
	return out
}

// onOneSide reports whether most runs of one side are so and none of the other's.
// A single run near the threshold must not spoil the rest.
func onOneSide(here, of, there int) bool { return 2*here > of && there == 0 }

func limited(runs []Run) int {
	return count(runs, func(r *Run) bool { return r.GeneratorLimited })
}

func count(runs []Run, is func(*Run) bool) int {
	n := 0
	for i := range runs {
		if is(&runs[i]) {
			n++
		}
	}
	return n
}

// planKeys are the parts of the plan that every run speaks of: an older file
// knows nothing of a newer option.
func planKeys(before, after []Run) []string {
	runs := slices.Concat(before, after)
	keys := slices.Collect(maps.Keys(runs[0].Plan))
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return slices.ContainsFunc(runs, func(r Run) bool { _, has := r.Plan[key]; return !has })
	})
	slices.Sort(keys)
	return keys
}

// planned are the different values of one part of the plan, in order.
func planned(runs []Run, key string) []string {
	var values []string
	for i := range runs {
		values = append(values, inWords(key, runs[i].Plan[key]))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func inWords(key, value string) string {
	if ns, err := strconv.ParseInt(value, 10, 64); err == nil && strings.HasSuffix(key, "_ns") {
		return time.Duration(ns).String()
	}
	return cmp.Or(value, "none")
}

func versions(runs []Run, part func(*Run) string) string {
	var all []string
	for i := range runs {
		all = append(all, part(&runs[i]))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " and ")
}

func major(r *Run) string {
	number, _, _ := strings.Cut(r.Tool, ".")
	return number
}

// unsound names runs that say less than they should.
func unsound(runs []Run, side string) []string {
	var out []string
	for i := range runs {
		switch r := &runs[i]; {
		case !r.Valid:
			out = append(out, fmt.Sprintf("%s (%s) says nothing about its target", r.Name, side))
		case r.Partial:
			out = append(out, fmt.Sprintf("%s (%s) is partial: interrupted, or short of workers", r.Name, side))
		}
	}
	return out
}
