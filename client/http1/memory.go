package http1

// Memory keeps the last header that parsers have read, and what they made of it:
// a target's answers seldom differ in theirs before the next second begins, and
// comparing is far less work than reading. It serves the parsers of one thread.
// The zero value is empty.
type Memory struct {
	head  [maxRemembered]byte
	size  int
	after Parser // that has read it
}

// maxRemembered is how long a header may be to be kept: most are shorter.
const maxRemembered = 1 << 10

// Remember has the parser keep in m the headers it reads, and know them again. It
// stays across Reset.
func (p *Parser) Remember(m *Memory) { p.memory = m }

// untouched reports whether nothing of an answer has been read.
func (p *Parser) untouched() bool {
	return p.step == stepStart && p.pos == 0 && p.interim == 0
}

// recall reads a header that is known. It returns how long that is, 0 if b begins
// with another, or does not have all of it.
func (m *Memory) recall(p *Parser, b []byte) int {
	if len(b) < m.size || p.answer != m.after.answer || string(b[:m.size]) != string(m.head[:m.size]) {
		return 0
	}
	if m.size > 0 {
		sink := p.sink
		*p = m.after
		p.sink = sink
	}
	return m.size
}

// keep remembers the header that an untouched parser has read, if it has read it
// to its end and found no fault.
func (m *Memory) keep(p *Parser, head []byte) {
	if p.step <= lastHead || p.step == stepBad || len(head) > maxRemembered {
		return
	}
	m.size = copy(m.head[:], head)
	m.after = *p
	m.after.sink = nil
}
