package host

import (
	"path/filepath"
	"strings"

	"horde/stats"
)

// groupFiles are the limits of control groups, version 2 and 1, by controller.
var groupFiles = [...]struct{ controller, file string }{
	{"cpu", "cpu.max"}, {"cpu", "cpu.weight"},
	{"cpu", "cpu.cfs_quota_us"}, {"cpu", "cpu.cfs_period_us"}, {"cpu", "cpu.shares"},
	{"cpuset", "cpuset.cpus.effective"}, {"cpuset", "cpuset.effective_cpus"},
	{"memory", "memory.max"}, {"memory", "memory.limit_in_bytes"}, {"pids", "pids.max"},
}

// limitsOfGroups are the limits of the control groups this process is in, from
// its own up to the root: different values stand apart by " < ".
func (t Tree) limitsOfGroups() map[string]stats.Fact {
	facts := map[string]stats.Fact{}
	for _, g := range groupFiles {
		var values []string
		unknown := noFile
		for _, dir := range t.groups(g.controller) {
			f := t.Read(filepath.Join(dir, g.file))
			if !f.Known() {
				if f != noFile {
					unknown = f
				}
				continue
			}
			if len(values) == 0 || values[len(values)-1] != f.Value {
				values = append(values, f.Value)
			}
		}
		if len(values) > 0 {
			unknown = stats.Have(strings.Join(values, " < "))
		}
		facts["cgroup/"+g.file] = unknown
	}
	return facts
}

// groups are the directories of this process's control group for a controller
// and of those above it, where they are usually mounted (cgroups(7)).
func (t Tree) groups(controller string) []string {
	var dirs []string
	for line := range strings.Lines(t.Read("proc/self/cgroup").Value) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root := "sys/fs/cgroup"
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ","+controller+",") {
				continue
			}
			root = filepath.Join(root, controller)
		}
		for dir := filepath.Join(root, parts[2]); len(dir) >= len(root); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
