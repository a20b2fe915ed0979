package recording

import "testing"

// What a guest did to a file in parts is one deed, with what it had read of it before.
func TestDeeds(t *testing.T) {
	file := func(op string, handle uint32, path string, data, read string, length int64, errno string) Event {
		return Event{File: &File{FileAsk{Op: op, Handle: handle, Path: path, Data: Bytes(data), Length: length}, FileResult{Data: Bytes(read), Errno: errno}}}
	}
	r := &Recording{Events: []Event{
		file(opOpen, 0, "/w/a.txt", "", "", 0, ""),
		file(opRead, 1, "", "", "before", 100, ""),
		file(opOpen, 0, "/w/none.txt", "", "", 0, "ENOENT"),
		file(opOpen, 0, "/w/b.txt", "", "", 0, ""),
		file(opAppend, 1, "", "aft", "", 0, ""),
		file(opAppend, 2, "", "other", "", 0, ""),
		file(opAppend, 1, "", "er", "", 0, ""),
		file(opRemove, 0, "/w/c.txt", "", "", 0, "EACCES"),
		file(opRemove, 0, "/w/d.txt", "", "", 0, ""),
	}}
	want := []Deed{
		{What: "read /w/a.txt"},
		{What: "write to /w/a.txt", Before: []byte("before"), Written: []byte("after")},
		{What: "write to /w/b.txt", Written: []byte("other")},
		{What: "remove /w/d.txt"},
	}
	got := r.Deeds()
	if len(got) != len(want) {
		t.Fatalf("%d deeds: %q", len(got), got)
	}
	for i, d := range got {
		if w := want[i]; d.What != w.What || string(d.Before) != string(w.Before) || string(d.Written) != string(w.Written) {
			t.Errorf("%d: %q, want %q", i, d, w)
		}
	}
}
