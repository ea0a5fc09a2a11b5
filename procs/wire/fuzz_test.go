package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"horde/stats"
)

// Each target holds that whatever bytes come, nothing panics, and that what is
// accepted means the same after it was sent on.

func seeds() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func FuzzNext(f *testing.F) {
	f.Add([]byte(Magic), 100)
	f.Add(AppendReady(AppendGo(nil, 1)), 100)
	f.Add([]byte("HTTP/1.1 200 OK\r\n"), MaxPlan)
	f.Fuzz(func(t *testing.T, b []byte, most int) {
		most = max(most, 0)
		kind, payload, rest, ok, err := Next(b, most)
		if err != nil || !ok {
			require.Nil(t, payload)
			require.Equal(t, b, rest)
			return
		}
		require.LessOrEqual(t, len(payload)+1, most)
		again := end(append(begin(nil, kind), payload...), 0)
		require.Equal(t, b, append(again, rest...))
	})
}

func FuzzReadPlan(f *testing.F) {
	r := seeds()
	for range 8 {
		f.Add(AppendPlan(nil, randomPlan(r))[headerSize:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		plan, err := ReadPlan(payload)
		if err != nil {
			return
		}
		again, err := ReadPlan(AppendPlan(nil, &plan)[headerSize:])
		require.NoError(t, err)
		require.Equal(t, plan, again)
	})
}

func FuzzReadInterval(f *testing.F) {
	r := seeds()
	for i := range 8 {
		f.Add(AppendInterval(nil, i, randomTally(r))[headerSize:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var first, second stats.Tally
		at, err := ReadInterval(payload, &first)
		if err != nil {
			return
		}
		require.Equal(t, first.Succeeded, first.Total.Count())
		sent := AppendInterval(nil, at, &first)
		again, err := ReadInterval(sent[headerSize:], &second)
		require.NoError(t, err)
		require.Equal(t, at, again)
		require.Equal(t, sent, AppendInterval(nil, again, &second))
	})
}

func FuzzReadFinal(f *testing.F) {
	r := seeds()
	for range 8 {
		f.Add(AppendFinal(nil, randomFinal(r))[headerSize:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		final, err := ReadFinal(payload)
		if err != nil {
			return
		}
		again, err := ReadFinal(AppendFinal(nil, &final)[headerSize:])
		require.NoError(t, err)
		require.Equal(t, final, again)
	})
}

func FuzzReadGo(f *testing.F) {
	f.Add(AppendGo(nil, -1)[headerSize:])
	f.Fuzz(func(t *testing.T, payload []byte) {
		release, err := ReadGo(payload)
		if err != nil {
			return
		}
		again, err := ReadGo(AppendGo(nil, release)[headerSize:])
		require.NoError(t, err)
		require.Equal(t, release, again)
	})
}
