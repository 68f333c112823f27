package rungraph

import "context"

// progress tells how far a check is, and asks whether it should go on.
type progress struct {
	ctx  context.Context
	tell func(done, total int)

	before, total int // bytes of the passes that are over, and of both passes
	told          int
}

// progressStep is how many bytes lie between two looks at the context.
const progressStep = 1 << 20

// stopped reports that whoever asked does not want the answer any more.
func (p *progress) stopped(at int) bool {
	if at+p.before-p.told < progressStep {
		return false
	}
	p.told = at + p.before
	if p.tell != nil {
		p.tell(p.told, p.total)
	}
	return p.ctx.Err() != nil
}
