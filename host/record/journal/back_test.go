package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// What is read from the end is what is read from the beginning, over segments and blocks.
func TestBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, Options{SegmentBytes: 300 << 10, Log: "calls", Clock: time.Now})
	if err := j.Back(context.Background(), func(Entry) (bool, error) { t.Error("an entry of an empty journal"); return true, nil }); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 60<<10)
	for i := range long {
		long[i] = 'x'
	}
	for i := range 40 {
		if _, err := j.Append(context.Background(), Record{Kind: "run", Actor: "a", Data: []byte(fmt.Sprintf(`{"n":%d,"x":%q}`, i, long[:1+i*1500]))}); err != nil {
			t.Fatal(err)
		}
	}
	var there, back []uint64
	if err := j.Replay(context.Background(), 0, func(e Entry) error { there = append(there, e.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := j.Back(context.Background(), func(e Entry) (bool, error) { back = append(back, e.Seq); return true, nil }); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(back)
	if len(there) != 40 || !slices.Equal(there, back) {
		t.Errorf("%v, and from the end %v", there, back)
	}
	n := 0
	err := j.Back(context.Background(), func(Entry) (bool, error) { n++; return n < 3, nil })
	if err != nil || n != 3 {
		t.Errorf("%d entries, %v", n, err)
	}
	mine := errors.New("mine")
	if err := j.Back(context.Background(), func(Entry) (bool, error) { return true, mine }); !errors.Is(err, mine) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	damagedFromEnd(t, j)
}

// damagedFromEnd changes a byte of an early entry: all after it is still given, and then it is said.
func damagedFromEnd(t *testing.T, j *Journal) {
	t.Helper()
	all, err := j.segments()
	if err != nil || len(all) < 2 {
		t.Fatal(len(all), err)
	}
	b, err := os.ReadFile(all[0].path)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 1
	if err := os.WriteFile(all[0].path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = j.Back(context.Background(), func(Entry) (bool, error) { n++; return true, nil })
	if !errors.Is(err, ErrDamaged) || n != 39 {
		t.Errorf("%d entries, %v", n, err)
	}
}
