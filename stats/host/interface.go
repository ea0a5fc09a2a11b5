package host

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"horde/stats"
)

const netDir = "sys/class/net"

// mostInterfaces bounds the facts of a host with hundreds of virtual ones.
const mostInterfaces = 16

// Interfaces are the network interfaces: those with hardware behind them first,
// then the loopback, then the rest, of which there may be hundreds.
func (t Tree) Interfaces() []string {
	names := t.names(netDir)
	rank := func(name string) int {
		switch {
		case t.Read(filepath.Join(netDir, name, "device/uevent")).Known():
			return 0
		case name == "lo":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return names[:min(len(names), mostInterfaces)]
}

// interfaces are the facts of each: driver, what it can do, and who takes what
// it receives (the kernel's Documentation/networking/scaling.rst).
func (t Tree) interfaces() map[string]stats.Fact {
	facts := map[string]stats.Fact{}
	for _, name := range t.Interfaces() {
		dir := filepath.Join(netDir, name)
		add := func(what string, f stats.Fact) { facts["net/"+name+"/"+what] = f }
		for _, file := range [...]string{"mtu", "tx_queue_len", "gro_flush_timeout", "napi_defer_hard_irqs"} {
			add(file, t.Read(filepath.Join(dir, file)))
		}
		add("rx_queues", t.queues(dir, "rx-"))
		add("tx_queues", t.queues(dir, "tx-"))
		add("rps_cpus", t.perQueue(dir, "rx-", "rps_cpus"))
		add("rps_flow_cnt", t.perQueue(dir, "rx-", "rps_flow_cnt"))
		add("xps_cpus", t.perQueue(dir, "tx-", "xps_cpus"))
		if t.Read(filepath.Join(dir, "device/uevent")).Known() {
			add("driver", t.Field(filepath.Join(dir, "device/uevent"), "DRIVER"))
			add("speed", t.Read(filepath.Join(dir, "speed")))
			add("numa_node", t.Read(filepath.Join(dir, "device/numa_node")))
			add("smp_affinity_list", t.affinity(dir, "smp_affinity_list"))
			add("effective_affinity_list", t.affinity(dir, "effective_affinity_list"))
		}
	}
	return facts
}

func (t Tree) queues(dir, prefix string) stats.Fact {
	n := len(t.numbered(filepath.Join(dir, "queues"), prefix))
	if n == 0 {
		return noFile
	}
	return stats.Have(strconv.Itoa(n))
}

// perQueue is a setting of all queues of one kind.
func (t Tree) perQueue(dir, prefix, file string) stats.Fact {
	queues := t.numbered(filepath.Join(dir, "queues"), prefix)
	values := make([]stats.Fact, len(queues))
	for i, queue := range queues {
		values[i] = t.Read(filepath.Join(dir, "queues", queue, file))
	}
	return spread(queues, values)
}

// Interrupts are the numbers of an interface's interrupts: its own where it has
// message-signalled ones, else those of the bus device below it (virtio).
func (t Tree) Interrupts(name string) []string {
	dir := filepath.Join(netDir, name, "device")
	if numbers := t.numbered(filepath.Join(dir, "msi_irqs"), ""); len(numbers) > 0 {
		return numbers
	}
	// Not joined: the kernel, not the path, says what stands above the device.
	entries, _ := os.ReadDir(t.path(dir) + "/../msi_irqs")
	var numbers []string
	for _, e := range entries {
		numbers = append(numbers, e.Name())
	}
	slices.Sort(numbers)
	return numbers
}

// affinity says to which CPUs the interrupts of an interface go.
func (t Tree) affinity(dir, file string) stats.Fact {
	numbers := t.Interrupts(filepath.Base(dir))
	values := make([]stats.Fact, len(numbers))
	for i, n := range numbers {
		values[i] = t.Read(filepath.Join("proc/irq", n, file))
	}
	return spread(numbers, values)
}
