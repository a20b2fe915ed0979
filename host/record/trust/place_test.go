package trust

import "testing"

// A place is the same for each version, and for what is a place already.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"oci://h:5000/s/x:1.0.0":                   "oci://h:5000/s/x",
		"oci://h:5000/s/x@sha256:11":               "oci://h:5000/s/x",
		"oci://h:5000/s/x:1.0.0@sha256:11":         "oci://h:5000/s/x",
		"oci://h:5000/s/x":                         "oci://h:5000/s/x",
		"git+https://h/r#v1.0.0:skills/x":          "git+https://h/r#:skills/x",
		"git+https://h/r#v1.0.0":                   "git+https://h/r",
		"git+ssh://git@h:22/r":                     "git+ssh://git@h:22/r",
		"https://h:8080/d/x-1.0.0.skill#sha256:11": "https://h:8080/d",
		"https://h/d/x-1.0.0.skill":                "https://h/d",
		"https://h/download/latest?v=1#sha256:11":  "https://h/download",
		"https://h:8080/d":                         "https://h:8080/d",
		"/home/ada/x-1.0.0.skill":                  "/home/ada",
		"/home/ada/x":                              "/home/ada/x",
		"oci-layout:/mirror/x:1.0.0@sha256:11":     "oci-layout:/mirror/x",
		"task:t1":                                  "task:t1",
	} {
		if got := LocationOf(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
		if got := LocationOf(LocationOf(source)); got != want {
			t.Errorf("%s: the place of its place is %s", source, got)
		}
	}
}
