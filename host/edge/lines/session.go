package lines

import (
	"fmt"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/text"
)

// Session is everything about a session.
func Session(i invoke.Session) []string { return written(Style{}, func(b *block) { b.session(i) }) }

// SessionLine is a session in one line, for the actor who looks at it.
func SessionLine(style Style, i invoke.Session, actor string) string {
	name := plain(i.Key().String())
	if i.Damaged {
		b := block{Style: style}
		return fmt.Sprintf("%-24s damaged, %s", name, size(i.Bytes)) + b.behind("; ", "%s deletes it", fault.CloseSession(i.Key().String()))
	}
	line := fmt.Sprintf("%-24s %-10s %-9s age %s, idle %s  %s  %s", name, plain(i.Tool), count(i.Calls, "call"),
		text.Span(i.AgeSeconds), text.Span(i.IdleSeconds), size(i.Bytes), sessionEnd(i))
	if i.Owner != actor {
		line += ", of " + plain(i.Owner)
	}
	return line
}

func sessionEnd(i invoke.Session) string {
	switch {
	case i.Ended:
		return "ended " + when(i.ExpiresAt)
	case i.InUse:
		return "in use"
	}
	return "until " + when(i.ExpiresAt)
}

func (b *block) session(i invoke.Session) {
	b.fact("session", i.Key().String())
	if i.Damaged {
		b.fact("damaged", "the file is not what a call left there; it can only be closed")
	} else {
		b.fact("skill", i.Skill+"@"+i.Version)
		b.fact("digest", string(i.Digest))
		b.fact("owner", i.Owner)
		b.fact("last tool", i.Tool)
		b.fact("calls", fmt.Sprint(i.Calls))
		b.fact("began", when(i.CreatedAt)+", "+text.Span(i.AgeSeconds)+" ago")
		b.fact("last call", when(i.UsedAt)+", "+text.Span(i.IdleSeconds)+" ago")
		b.fact("ends", sessionEnd(i))
	}
	b.fact("size", size(i.Bytes))
}
