package govern

import "testing"

// The newest release for the platform counts, and one before a release for those alone who run one.
func TestNewest(t *testing.T) {
	const sums = "a1  skillet_v0.1.0_linux_amd64.tar.gz\na2  skillet_v0.10.0_linux_amd64.tar.gz\na3  skillet_v0.9.0_linux_amd64.tar.gz\n" +
		"a4  skillet_v1.0.0-rc.1_linux_amd64.tar.gz\na5  skillet_v2.0.0_windows_amd64.zip\na6  skillet_0.1.0_amd64.deb\na7  bom.json\nnothing\n"
	for _, c := range []struct {
		running, platform, want string
		newer, unknown          bool
	}{
		{"v0.9.0", "linux/amd64", "v0.10.0", true, false},
		{"v0.10.0", "linux/amd64", "v0.10.0", false, false},
		{"v0.11.0", "linux/amd64", "v0.10.0", false, false},
		{"v1.0.0-rc.0", "linux/amd64", "v1.0.0-rc.1", true, false},
		{"v1.0.0", "windows/amd64", "v2.0.0", true, false},
		{"(devel)", "linux/amd64", "v0.10.0", false, true},
	} {
		r, err := newest(sums, ReleaseCheck{Version: c.running, Platform: c.platform})
		if err != nil || r.Version != c.want || r.Newer != c.newer || r.Unknown != c.unknown {
			t.Errorf("%s on %s: %+v, %v", c.running, c.platform, r, err)
		}
	}
	if r, err := newest(sums, ReleaseCheck{Version: "v0.1.0", Platform: "plan9/arm"}); err == nil {
		t.Errorf("nothing is published there: %+v", r)
	}
}
