package compare

// Cause is a fact of the host that differs between the sides.
type Cause struct {
	Fact          string
	Before, After string
	Why           string // the effect it is known for, "" = none known
}

func causes(before, after []Run) ([]Cause, string) { return nil, "" }
