package host

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"strings"

	"horde/stats"
)

// builtWith are the choices of a kernel's build that move a load test.
var builtWith = []string{
	"CONFIG_HZ", "CONFIG_NO_HZ_FULL", "CONFIG_PREEMPT_NONE", "CONFIG_PREEMPT_VOLUNTARY", "CONFIG_PREEMPT", "CONFIG_PREEMPT_LAZY",
	"CONFIG_PREEMPT_RT", "CONFIG_PREEMPT_DYNAMIC", "CONFIG_KASAN", "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_KMEMLEAK",
}

// build reads them where the kernel has its configuration in itself, or its
// package put one beside it. What is not chosen is "n".
func (t Tree) build(release string) map[string]stats.Fact {
	facts := map[string]stats.Fact{}
	text, err := t.config(release)
	for _, name := range builtWith {
		facts["config/"+name] = stats.Have("n")
		if err != nil {
			facts["config/"+name] = stats.Lack(why(err))
		}
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		if _, wanted := facts["config/"+name]; wanted {
			facts["config/"+name] = stats.Have(value)
		}
	}
	return facts
}

func (t Tree) config(release string) (string, error) {
	text, err := os.ReadFile(t.path("boot/config-" + release))
	if err == nil && release != "" {
		return string(text), nil
	}
	f, err := os.Open(t.path("proc/config.gz"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	text, err = io.ReadAll(unpacked)
	return string(text), err
}
