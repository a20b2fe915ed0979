package jail

// Quota bounds what one FS may use. A zero or negative field stands for its default.
type Quota struct {
	OpenFiles  int   // files and directories open at one time; default 64
	FileBytes  int64 // size of any one file that is written, in bytes; default 64 MiB
	TotalBytes int64 // bytes written over the life of the FS, also when removed again; default 256 MiB
	Files      int   // files and directories created over the life of the FS; default 1024
	Entries    int   // directory entries listed over the life of the FS; default 100,000
}

// Defaults of [Quota].
const (
	DefaultOpenFiles  = 64
	DefaultFileBytes  = 64 << 20
	DefaultTotalBytes = 256 << 20
	DefaultFiles      = 1024
	DefaultEntries    = 100_000
)

// withDefaults fills the fields that are not set.
func (q Quota) withDefaults() Quota {
	q.OpenFiles = orDefault(q.OpenFiles, DefaultOpenFiles)
	q.FileBytes = orDefault(q.FileBytes, DefaultFileBytes)
	q.TotalBytes = orDefault(q.TotalBytes, DefaultTotalBytes)
	q.Files = orDefault(q.Files, DefaultFiles)
	q.Entries = orDefault(q.Entries, DefaultEntries)
	return q
}

// orDefault returns n when it is positive and otherwise d.
func orDefault[T int | int64](n, d T) T {
	if n > 0 {
		return n
	}
	return d
}

// Usage is what an FS has used of its quota. Only OpenFiles ever goes down.
type Usage struct {
	OpenFiles int
	Bytes     int64 // written
	Files     int   // created
	Entries   int   // listed
}

// Usage returns the present figures.
func (f *FS) Usage() Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.use
}

// Quota returns the quota with its defaults filled in.
func (f *FS) Quota() Quota { return f.quota }

// takeBytes counts n bytes that are about to be written, or refuses.
func (f *FS) takeBytes(n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.quota.TotalBytes-f.use.Bytes {
		return &QuotaError{What: "bytes written", Limit: f.quota.TotalBytes}
	}
	f.use.Bytes += n
	return nil
}

// giveBytes takes back bytes that were counted and then not written.
func (f *FS) giveBytes(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.use.Bytes -= n
}

// takeFile counts one file or directory about to be created, or refuses.
func (f *FS) takeFile() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.use.Files >= f.quota.Files {
		return &QuotaError{What: "files created", Limit: int64(f.quota.Files)}
	}
	f.use.Files++
	return nil
}

// giveFile takes back a creation that did not happen.
func (f *FS) giveFile() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.use.Files--
}

// takeEntries returns how many of n directory entries may be listed, and counts them. With none left it refuses.
func (f *FS) takeEntries(n int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := f.quota.Entries - f.use.Entries
	if left <= 0 {
		return 0, &QuotaError{What: "directory entries", Limit: int64(f.quota.Entries)}
	}
	n = min(n, left)
	f.use.Entries += n
	return n, nil
}

// giveEntries takes back entries that were counted and were not there.
func (f *FS) giveEntries(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.use.Entries -= n
}

// takeHandle counts one more open file, or refuses.
func (f *FS) takeHandle() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.use.OpenFiles >= f.quota.OpenFiles {
		return &QuotaError{What: "open files", Limit: int64(f.quota.OpenFiles)}
	}
	f.use.OpenFiles++
	return nil
}

// giveHandle counts one open file less.
func (f *FS) giveHandle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.use.OpenFiles--
}
