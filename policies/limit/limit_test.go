package limit

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// Every row is complete, and every field of the structs belongs to one row.
func TestTable(t *testing.T) {
	var s Set
	var f Fields
	var c Ceilings
	var q Request
	seen := map[string]bool{}
	for i, r := range rows {
		l := Limit(i)
		if r.what == "" || strings.Count(r.brief, "%s") != 1 || r.unit <= 0 || r.path == "" || seen[r.path] {
			t.Errorf("row %d is not complete: %+v", i, r)
		}
		seen[r.path] = true
		if r.usual <= 0 || r.usual > r.ceiling || r.ceiling > r.most || r.ceiling%r.unit != 0 || r.most%r.unit != 0 {
			t.Errorf("%s: %d by default, %d in manifests, %d at most", r.what, r.usual, r.ceiling, r.most)
		}
		if r.set.Get == nil || (r.fields.Get != nil) != strings.HasPrefix(r.path, resourceLimits) || (r.ceilings.Get != nil) != (r.setting != "") || (r.requests.Get != nil) != (r.request != "") {
			t.Errorf("%s: a column is missing, or one too many", r.what)
			continue
		}
		if (r.request == "") != (r.help == "") || (r.normal > 0) != (r.setting != "") || r.normal > r.most {
			t.Errorf("%s: a request and its help, or a setting and its default, do not go together", r.what)
		}
		value := r.ceiling - r.unit
		columnHolds(t, r.what, r.set, &s, value)
		if r.fields.Get != nil {
			columnHolds(t, r.what, r.fields, &f, value)
			hasTag(t, f, "json", l.field(), value/r.unit)
		}
		if r.setting != "" {
			columnHolds(t, r.what, r.ceilings, &c, value)
			hasTag(t, c, "json", r.setting, value/r.unit)
			hasTag(t, c, "koanf", r.setting, value/r.unit)
		}
		if r.request != "" {
			columnHolds(t, r.what, r.requests, &q, value)
		}
	}
	f.MaxCPUPercent = 1 // which nothing enforces
	for _, of := range []any{s, f, c, q} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is of no limit in the table", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
}

func columnHolds[D any](t *testing.T, what string, c Column[D], d *D, value int64) {
	t.Helper()
	if c.Put(d, value); c.Get(d) != value {
		t.Errorf("%s: a column of %T has %d, want %d", what, *d, c.Get(d), value)
	}
}

// hasTag checks that the field with a tag holds the number of a value.
func hasTag(t *testing.T, of any, tag, name string, number int64) {
	t.Helper()
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		if got, _, _ := strings.Cut(v.Type().Field(i).Tag.Get(tag), ","); got == name {
			if n := v.Field(i).Convert(reflect.TypeFor[float64]()).Float(); n != float64(number) {
				t.Errorf("%s: %v, want %d", name, n, number)
			}
			return
		}
	}
	t.Errorf("%T has no field with the %s name %s", of, tag, name)
}

func TestWithin(t *testing.T) {
	asked := Set{MemoryBytes: 128 * mib, Seconds: 2.5, Fuel: 200_000_000_000, OutputBytes: 1 << 40, HostCalls: 5}
	b := asked.Within(Ceilings{MaxMemoryMB: 64, MaxFuel: 5000}.Set())
	want := Set{MemoryBytes: 64 * mib, Seconds: 2.5, Fuel: 5000, OutputBytes: 64 * mib, HostCalls: 5}
	if b.Limits != want {
		t.Errorf("%+v, want %+v", b.Limits, want)
	}
	cut := []Cut{
		{"max_memory_mb", "128 MB", "64 MB", "max_memory_mb"}, {"max_fuel", "200,000,000,000", "5,000", "max_fuel"},
		{"max_output_kb", "1048576 MB", "64 MB", ""},
	}
	if !reflect.DeepEqual(b.Cut, cut) {
		t.Errorf("%+v, want %+v", b.Cut, cut)
	}
	if b := (Set{MemoryBytes: math.MaxUint64, Seconds: math.Inf(1)}).Within(Set{}); b.Limits.MemoryBytes != 1024*mib || b.Limits.Seconds != 3600 {
		t.Errorf("without ceilings: %+v", b.Limits)
	}
}

func TestLowered(t *testing.T) {
	home := DefaultCeilings()
	got := home.Lowered(Ceilings{MaxMemoryMB: 64, MaxExecutionSeconds: 1e300})
	want := home
	if want.MaxMemoryMB = 64; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (Ceilings{}).Lowered(Ceilings{MaxFuel: 7}); got != (Ceilings{MaxFuel: 7}) {
		t.Errorf("no bound: %+v", got)
	}
}

func TestSetOfFields(t *testing.T) {
	s := Fields{MaxMemoryMB: 1, MaxExecutionTime: 0.1, MaxCPUPercent: 100}.Set()
	want := Set{MemoryBytes: mib, Seconds: 0.1}
	for _, l := range All() {
		if l.Of(want) == 0 {
			l.Put(&want, l.Default())
		}
	}
	if s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	if s := (Set{Fuel: 3}).Or(want); s.Fuel != 3 || s.MemoryBytes != mib {
		t.Errorf("%+v", s)
	}
	if w := (Fields{MaxExecutionTime: 1e-12}).Set().Wall(); w <= 0 {
		t.Errorf("the shortest time became %s", w)
	}
}

func TestText(t *testing.T) {
	for _, row := range []struct {
		limit Limit
		value int64
		want  string
	}{
		{Memory, 64 * mib, "64 MB memory"}, {Memory, 1536 * kib, "1536 KB memory"}, {Output, 10, "10 bytes output"}, {Time, 2500 * second / 1000, "2.5s"},
		{Fuel, 200_000_000_000, "200,000,000,000 fuel"}, {HostCalls, 999, "999 host calls"}, {HostCalls, -1000, "-1,000 host calls"},
	} {
		if got := row.limit.Brief(row.value); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
	if got := Memory.Value(math.MaxUint64); got != math.MaxInt64 {
		t.Errorf("more than there can be: %d", got)
	}
}
