package host_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/manifests"
)

// A ring is a keyring of a test.
type ring struct {
	mu     sync.Mutex
	texts  map[string]string
	locked bool
}

func newRing() *ring { return &ring{texts: map[string]string{}} }

func (r *ring) Get(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return "", secret.ErrLocked
	}
	if text, ok := r.texts[name]; ok {
		return text, nil
	}
	return "", secret.ErrNoEntry
}

func (r *ring) Set(name, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked {
		return secret.ErrLocked
	}
	r.texts[name] = value
	return nil
}

func setSecret(t *testing.T, h *host.Host, name, value string) error {
	t.Helper()
	_, err := h.Govern().Secrets.Set(t.Context(), ada, govern.SetSecret{Name: name, Value: []byte(value)})
	return err
}

// none is a session without a keyring.
type none struct{}

func (none) Get(string) (string, error) { return "", secret.ErrNoKeyring }
func (none) Set(string, string) error   { return secret.ErrNoKeyring }

// inHome opens a home, and closes it when do is done.
func inHome(t *testing.T, home string, k secret.Keyring, do func(h *host.Host)) {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Home: home, LogOutput: &bytes.Buffer{}, Keyring: k})
	if err != nil {
		t.Fatal(err)
	}
	do(h)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var ada = approval.NewHuman("ada")

// lived makes a home with a skill that was granted something and was run.
func lived(t *testing.T, home string, k secret.Keyring) {
	t.Helper()
	inHome(t, home, k, func(h *host.Host) {
		add(t, h, "one", `,"security":{"permissions":{"notify":{"reason":"to tell"}}}`, 0)
		for range 2 {
			if res := call(t, h); !res.OK {
				t.Fatal(res.Error)
			}
		}
	})
}

func call(t *testing.T, h *host.Host) task.Result {
	t.Helper()
	target, err := find(t, h, manifests.Ref{Name: "one"})
	if err != nil {
		return task.Result{Error: meaning.Of(err)}
	}
	a, err := h.Invoke().Invoke(t.Context(), invoke.Invocation{Target: target, By: ada})
	if err != nil {
		return task.Result{Error: meaning.Of(err)}
	}
	return a.Result
}

// refused checks that nothing can be decided or run in a home, and that whoever
// looks is told: each with exit code 7.
func refused(t *testing.T, home string, k secret.Keyring, want string) {
	t.Helper()
	inHome(t, home, k, func(h *host.Host) {
		_, verr := h.Parts().Decisions.Verify(t.Context())
		_, rerr := h.Parts().Calls.Verify(t.Context())
		if err := errors.Join(verr, rerr); meaning.Of(err).Kind != fault.KindVerification || !strings.Contains(err.Error(), want) {
			t.Errorf("verify: %v, want %q", err, want)
		}
		if err := setSecret(t, h, "later", "hunter2"); verr != nil && (err == nil || meaning.Of(err).Kind != fault.KindVerification) {
			t.Errorf("set a secret: %v", err)
		} else if has, _ := h.Parts().Secrets.Has(t.Context(), "later"); verr != nil && has {
			t.Error("a secret was sealed to whoever changed the home")
		}
		if _, err := h.Parts().Registry.List(t.Context()); err == nil && has(t, h) {
			if res := call(t, h); res.OK || res.Error.Kind != fault.KindVerification || res.Figures.HostCalls != 0 {
				t.Errorf("a call was made: %+v", res.Error)
			}
		}
	})
}

func has(t *testing.T, h *host.Host) bool {
	all, err := h.Parts().Registry.List(t.Context())
	return err == nil && len(all) > 0
}

// repaired repairs the log, and checks that the home works, and whether the grant
// is there.
func repaired(t *testing.T, home string, k secret.Keyring, granted bool) {
	t.Helper()
	inHome(t, home, k, func(h *host.Host) {
		plan, err := h.Upkeep().PlanAuditRepair(t.Context(), ada)
		if err != nil {
			t.Fatal(err)
		}
		// Where the store is gone, so is what else it had: that takes a word of its own.
		lossy := plan.Store != nil && !plan.Store.Whole
		if lossy {
			if _, err := h.Upkeep().RepairAudit(t.Context(), ada, upkeep.RepairRequest{}); err == nil || meaning.Of(err).Kind != fault.KindConflict {
				t.Errorf("repaired without a word about the store: %v", err)
			}
		}
		done, err := h.Upkeep().RepairAudit(t.Context(), ada, upkeep.RepairRequest{Lossy: lossy})
		if err != nil {
			t.Fatal(err)
		}
		if (plan.Key == nil) != (done.Key == nil) || strings.Join(plan.Ended, "\n") != strings.Join(done.Ended, "\n") {
			t.Errorf("planned %+v, done %+v", plan, done)
		}
	})
	inHome(t, home, k, func(h *host.Host) {
		for _, j := range []*journal.Journal{h.Parts().Decisions, h.Parts().Calls} {
			if _, err := j.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := setSecret(t, h, "later", "hunter2"); err != nil {
			t.Error(err)
		}
		if !has(t, h) {
			add(t, h, "one", ``, 0)
		}
		if got := len(target(t, h, "one").Granted.Set().All()) > 0; got != granted {
			t.Errorf("granted: %v, want %v", got, granted)
		}
		if res := call(t, h); !res.OK {
			t.Error(res.Error)
		}
	})
}

// rechain writes a journal anew without a signature, with every actor replaced.
func rechain(t *testing.T, dir string) {
	t.Helper()
	from, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var now time.Time
	to, err := journal.Open(dir+".new", journal.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	err = from.Replay(t.Context(), 0, func(e journal.Entry) error {
		now = e.Time.Add(-time.Hour)
		_, err := to.Append(t.Context(), journal.Record{Kind: e.Kind, Actor: "human:eve", Data: e.Data})
		return err
	})
	if err := errors.Join(err, os.RemoveAll(dir), os.Rename(dir+".new", dir)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, home string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(home, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
}

// copied copies files and directories of a home over those of another.
func copied(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		src, dst := filepath.Join(from, name), filepath.Join(to, name)
		if err := os.RemoveAll(dst); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(src); err != nil {
			t.Fatal(err)
		} else if st.IsDir() {
			if err := os.CopyFS(dst, os.DirFS(src)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := os.ReadFile(src)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(dst), 0o700), os.WriteFile(dst, b, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Who can write the home's files, and cannot open its keyring, changes nothing
// unseen; without a keyring, only with all that is known of the home changed
// alike.
func TestForgedLogs(t *testing.T) {
	forger := t.TempDir()
	lived(t, forger, none{})
	for _, c := range []struct {
		name   string
		attack func(t *testing.T, home string)
		want   string
		// granted says whether the grant is there after a repair.
		granted bool
		// keyringOnly is an attack that a home without a keyring does not see.
		keyringOnly bool
	}{
		{"the key removed", func(t *testing.T, home string) { remove(t, home, "keys/audit.age") }, "audit.age is missing", true, false},
		{"all written anew without signatures", func(t *testing.T, home string) {
			rechain(t, filepath.Join(home, "journal", "decisions"))
			rechain(t, filepath.Join(home, "journal", "calls"))
			remove(t, home, "keys/audit.age", "store", "history")
		}, "audit.age is missing", false, false},
		{"decisions written anew without signatures", func(t *testing.T, home string) {
			rechain(t, filepath.Join(home, "journal", "decisions"))
			remove(t, home, "store", "history")
		}, "one that nobody signed", false, false},
		{"runs written anew without signatures", func(t *testing.T, home string) { rechain(t, filepath.Join(home, "journal", "calls")) }, "one that nobody signed", true, false},
		{"the log removed", func(t *testing.T, home string) { remove(t, home, "journal") }, "it was removed", false, false},
		{"the log and the key removed", func(t *testing.T, home string) { remove(t, home, "journal", "keys/audit.age") }, "audit.age is missing", false, false},
		{"another home's log and keys", func(t *testing.T, home string) {
			copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity")
			remove(t, home, "store")
		}, "the keys of this home are not those it is known by", false, false},
		{"another home's log and keys, and its store", func(t *testing.T, home string) {
			copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity", "store")
		}, "the keys of this home are not those it is known by", false, false},
		{"all of another home", func(t *testing.T, home string) {
			copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity", "store", ".skillet-home")
		}, "the keys of this home are not those it is known by", false, true},
		{"all gone but what marks it", func(t *testing.T, home string) { remove(t, home, "journal", "history", "keys", "store") }, "audit.age is missing", false, false},
		{"all gone", func(t *testing.T, home string) {
			remove(t, home, "journal", "history", "keys", "store", ".skillet-home")
		}, "audit.age is missing", false, true},
		{"a key planted where the keyring has it", func(t *testing.T, home string) {
			copied(t, forger, home, "keys/identity")
		}, "the keys of this home are not those it is known by", true, false},
		{"a setting that prefers a file", func(t *testing.T, home string) {
			copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity", "store", ".skillet-home")
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("secret_key: file\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the keys of this home are not those it is known by", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []string{"keyring", "files"} {
				t.Run(mode, func(t *testing.T) {
					t.Parallel()
					var k secret.Keyring = none{}
					if mode == "keyring" {
						k = newRing()
					}
					home := t.TempDir()
					lived(t, home, k)
					c.attack(t, home)
					if mode == "files" && c.keyringOnly {
						return
					}
					refused(t, home, k, c.want)
					if mode == "files" && c.name == "a key planted where the keyring has it" {
						return // it took the place of the only key: nothing can be opened any more
					}
					repaired(t, home, k, c.granted)
				})
			}
		})
	}
}

// A home that is older than what it is known by is taken as it is found, once,
// and says so.
func TestOlderHomeIsTakenAsFound(t *testing.T) {
	t.Parallel()
	for _, k := range []secret.Keyring{newRing(), none{}} {
		home := t.TempDir()
		lived(t, home, k)
		forget(t, home, k)
		inHome(t, home, k, func(h *host.Host) {
			if err := h.CatchUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if res := call(t, h); !res.OK {
				t.Error(res.Error)
			}
			known, err := h.Parts().AuditKeys.Known(t.Context())
			if err != nil || len(known.Anchors) == 0 || !known.Anchors[0].Found || known.Signed("runs") == 0 {
				t.Errorf("%+v %v", known, err)
			}
		})
		remove(t, home, "keys/audit.age")
		refused(t, home, k, "audit.age is missing")
	}
}

// forget takes a home back to what one from before looks like.
func forget(t *testing.T, home string, k secret.Keyring) {
	t.Helper()
	if r, ok := k.(*ring); ok {
		delete(r.texts, "home:"+home)
	}
	if err := os.WriteFile(filepath.Join(home, ".skillet-home"), []byte("a home\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	remove(t, home, "store") // which is made again
}

// Where there is a keyring that does not answer, nothing is written.
func TestLockedKeyring(t *testing.T) {
	t.Parallel()
	k := newRing()
	home, forger := t.TempDir(), t.TempDir()
	lived(t, home, k)
	lived(t, forger, none{})
	k.locked = true
	refused(t, home, k, "locked")
	copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity", "store", ".skillet-home")
	refused(t, home, k, "locked")
	inHome(t, home, k, func(h *host.Host) {
		if _, err := h.Upkeep().RepairAudit(t.Context(), ada, upkeep.RepairRequest{}); !errors.Is(err, secret.ErrLocked) {
			t.Errorf("repair: %v", err)
		}
	})
	inHome(t, t.TempDir(), k, func(h *host.Host) {
		if err := setSecret(t, h, "x", "y"); !errors.Is(err, secret.ErrLocked) {
			t.Errorf("a new home: %v", err)
		}
	})
}

// A home that is moved or copied is known by where it was.
func TestMovedHome(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]secret.Keyring{"keyring": newRing(), "files": none{}} {
		home := filepath.Join(t.TempDir(), "home")
		lived(t, home, k)
		copy, moved := home+".copy", home+".moved"
		if err := errors.Join(os.CopyFS(copy, os.DirFS(home)), os.Rename(home, moved)); err != nil {
			t.Fatal(err)
		}
		if err := filepath.WalkDir(copy, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return os.Chmod(path, 0o600)
		}); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{copy, moved, moved} {
			inHome(t, dir, k, func(h *host.Host) {
				if res := call(t, h); !res.OK {
					t.Errorf("%s: %v", name, res.Error)
				}
				if _, err := h.Parts().Calls.Verify(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		remove(t, moved, "keys/audit.age")
		refused(t, moved, k, "audit.age is missing")
	}
}

// A home without a keyring on a machine that gets one keeps its file, and is known
// to the keyring from then on.
func TestKeyringThatComesLater(t *testing.T) {
	t.Parallel()
	home, forger, k := t.TempDir(), t.TempDir(), newRing()
	lived(t, home, none{})
	lived(t, forger, none{})
	inHome(t, home, k, func(h *host.Host) {
		if res := call(t, h); !res.OK {
			t.Error(res.Error)
		}
	})
	if len(k.texts) != 1 || !strings.Contains(k.texts["home:"+home], `"place": "file"`) {
		t.Errorf("the keyring has %v", k.texts)
	}
	copied(t, forger, home, "journal", "history", "keys/audit.age", "keys/identity", "store", ".skillet-home")
	refused(t, home, k, "the keys of this home are not those it is known by")
	repaired(t, home, k, false)
}

// A session that cannot reach the keyring does not make another identity.
func TestKeyringThatIsAway(t *testing.T) {
	t.Parallel()
	home, k := t.TempDir(), newRing()
	lived(t, home, k)
	refused(t, home, none{}, "the key of the audit log cannot be had")
	if _, err := os.Stat(filepath.Join(home, "keys", "identity")); err == nil {
		t.Error("a file was made beside the keyring")
	}
	inHome(t, home, k, func(h *host.Host) {
		if res := call(t, h); !res.OK {
			t.Error(res.Error)
		}
	})
}

// A new key that the old one names is followed.
func TestRotationIsFollowed(t *testing.T) {
	t.Parallel()
	for _, k := range []secret.Keyring{newRing(), none{}} {
		home := t.TempDir()
		lived(t, home, k)
		inHome(t, home, k, func(h *host.Host) {
			if _, err := h.Govern().Audit.RotateKey(t.Context(), ada); err != nil {
				t.Fatal(err)
			}
		})
		inHome(t, home, k, func(h *host.Host) {
			keys, err := h.Govern().Audit.Key(t.Context(), ada)
			if err != nil {
				t.Fatal(err)
			}
			known, err := h.Parts().AuditKeys.Known(t.Context())
			if err != nil || len(known.Anchors) == 0 || known.Anchors[0].AuditKey != keys.Key.String() {
				t.Errorf("known by %+v, %v", known, err)
			}
			if res := call(t, h); !res.OK {
				t.Error(res.Error)
			}
		})
	}
}

// Only a person repairs.
func TestRepairTakesAPerson(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lived(t, home, none{})
	remove(t, home, "keys/audit.age")
	inHome(t, home, none{}, func(h *host.Host) {
		if _, err := h.Upkeep().RepairAudit(context.Background(), approval.Human{}, upkeep.RepairRequest{}); meaning.Of(err) == nil || meaning.Of(err).Kind != fault.KindDenied {
			t.Errorf("nobody repaired it: %v", err)
		}
	})
}

// A backup of the store from before the home got another key is no reason to
// doubt the key.
func TestRestoredStoreSaysNothingOlder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	lived(t, home, none{})
	backup := filepath.Join(t.TempDir(), "backup")
	inHome(t, home, none{}, func(h *host.Host) {
		if _, err := h.Upkeep().BackUp(t.Context(), ada, upkeep.BackupRequest{Path: backup}); err != nil {
			t.Fatal(err)
		}
	})
	remove(t, home, "keys/audit.age")
	inHome(t, home, none{}, func(h *host.Host) {
		if _, err := h.Upkeep().RepairAudit(t.Context(), ada, upkeep.RepairRequest{}); err != nil {
			t.Fatal(err)
		}
	})
	inHome(t, home, none{}, func(h *host.Host) {
		if _, err := h.Upkeep().Restore(t.Context(), ada, upkeep.RestoreRequest{Path: backup}); err != nil {
			t.Fatal(err)
		}
	})
	inHome(t, home, none{}, func(h *host.Host) {
		if res := call(t, h); !res.OK {
			t.Error(res.Error)
		}
	})
}
