package limit

import (
	"strings"
	"time"

	"github.com/skillet-run/skillet/internal/duration"
)

// Wall is the limit of [Time].
func (s Set) Wall() time.Duration { return duration.OfSeconds(s.Seconds) }

// Set is the fields with the defaults filled in; no value of it is zero.
func (f Fields) Set() Set {
	var s Set
	for i := range rows {
		v := rows[i].usual
		if c := rows[i].fields; c.Get != nil && c.Get(&f) != 0 {
			v = c.Get(&f)
		}
		rows[i].set.Put(&s, v)
	}
	return s
}

// Set is what is asked for.
func (r Request) Set() Set {
	var s Set
	for i := range rows {
		if c := rows[i].requests; c.Get != nil {
			rows[i].set.Put(&s, c.Get(&r))
		}
	}
	return s
}

// DefaultCeilings are those of a host that says nothing.
func DefaultCeilings() Ceilings {
	var c Ceilings
	for i := range rows {
		if rows[i].setting != "" {
			rows[i].ceilings.Put(&c, rows[i].normal)
		}
	}
	return c
}

// Of is the value of a limit in the ceilings; 0 for no bound, and where there is no setting.
func (c Ceilings) Of(l Limit) int64 {
	if rows[l].setting == "" {
		return 0
	}
	return rows[l].ceilings.Get(&c)
}

// Set is the ceilings for [Set.Within].
func (c Ceilings) Set() Set {
	var s Set
	for i := range rows {
		rows[i].set.Put(&s, c.Of(Limit(i)))
	}
	return s
}

// Lowered is the ceilings, and those of others where these are lower.
func (c Ceilings) Lowered(by Ceilings) Ceilings {
	for i := range rows {
		l := Limit(i)
		if v, was := by.Of(l), c.Of(l); v > 0 && (was == 0 || v < was) {
			rows[i].ceilings.Put(&c, v)
		}
	}
	return c
}

// Bounds are limits as they hold on a host.
type Bounds struct {
	Limits Set `json:"limits"`
	// Cut are those that were asked for higher than the host allows.
	Cut []Cut `json:"limits_cut"`
}

// A Cut is a limit that a setting of the host makes smaller.
type Cut struct {
	// Limit is the field of the manifest: "max_memory_mb".
	Limit string `json:"limit"`
	// Asked is what was asked for, and Allowed what holds, with units.
	Asked   string `json:"asked"`
	Allowed string `json:"allowed"`
	// Setting is the setting that decides; the administrator may have set a lower
	// bound than it.
	Setting string `json:"setting"`
}

// Values are the values of all limits, as [Limit.Of] has each.
func (s Set) Values() [len(rows)]int64 {
	var all [len(rows)]int64
	for i := range rows {
		all[i] = rows[i].set.Get(&s)
	}
	return all
}

// Within is s below what may not be exceeded: the one clamp. Where most is zero, the ceiling
// of the table is meant.
func (s Set) Within(most Set) Bounds {
	b := Bounds{s, []Cut{}}
	for i := range rows {
		l, column := Limit(i), rows[i].set
		asked, top := column.Get(&b.Limits), column.Get(&most)
		if top == 0 {
			top = l.Ceiling()
		}
		if asked > top {
			column.Put(&b.Limits, top)
			b.Cut = append(b.Cut, Cut{l.field(), l.Text(asked), l.Text(top), l.Setting()})
		}
	}
	return b
}

// field is the last part of [Limit.Path].
func (l Limit) field() string { return l.Path()[strings.LastIndexByte(l.Path(), '.')+1:] }

// Or is s, with the values of usual where s has none.
func (s Set) Or(usual Set) Set {
	for i := range rows {
		if column := rows[i].set; column.Get(&s) == 0 {
			column.Put(&s, column.Get(&usual))
		}
	}
	return s
}
