package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Two shared stores on one directory exclude each other like two processes.

func TestSharedStoresSeeEachOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := mustShare(t, dir, testOptions()), mustShare(t, dir, testOptions())
	defer mustClose(t, a)
	defer mustClose(t, b)
	w, err := b.KV().Watch(t.Context(), "key/")
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Log("l").Follow(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	pulled := make(chan error, 1)
	go func() {
		_, err := b.Queue("q").Pull(t.Context(), 20*time.Second)
		pulled <- err
	}()
	fill(t, a, 0, 1)
	if e := <-w; e.Key != "key/00000" || string(e.Value) != "value of 0" {
		t.Errorf("watched %+v", e)
	}
	if err := a.KV().Delete(t.Context(), "key/00000", store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	if e := <-w; e.Key != "key/00000" || e.Value != nil {
		t.Errorf("watched %+v, want a deletion", e)
	}
	if _, err := a.Log("l").Append(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	if e := <-f; e.Subject != "s" {
		t.Errorf("followed %+v", e)
	}
	if err := a.Queue("q").Push(t.Context(), store.Job{ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-pulled; err != nil {
		t.Error(err)
	}
}

func TestReadersShareTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	populate(t, dir, testOptions(), 1)
	o := testOptions()
	o.Linger, o.LockWait = time.Hour, 50*time.Millisecond
	var readers []*Store
	for range 3 {
		s := mustShare(t, dir, o)
		if _, err := s.KV().Get(t.Context(), "key/00001"); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, s)
	}
	for _, s := range readers {
		mustClose(t, s)
	}
}

// A store that lingers is given up when another wants it.
func TestLingeringLetsOthersIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions()
	o.Linger = time.Hour
	a, b := mustShare(t, dir, o), mustShare(t, dir, o)
	defer mustClose(t, a)
	defer mustClose(t, b)
	for i := range 3 {
		fill(t, a, i, 1)
		if _, err := b.KV().Get(t.Context(), fmt.Sprintf("key/%05d", i)); err != nil {
			t.Fatal(err)
		}
		fill(t, b, 10+i, 1)
	}
}

// A busy store is given up too.
func TestBusyStoreLetsOthersIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := mustShare(t, dir, testOptions()), mustShare(t, dir, testOptions())
	defer mustClose(t, a)
	defer mustClose(t, b)
	fill(t, a, 0, 1)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				fill(t, a, i%10, 1)
			}
		}
	})
	fill(t, b, 100, 3)
	close(stop)
	busy.Wait()
}

// Who reads waits neither for who writes nor for who reads, and sees what was there before.
func TestCallsOfOneProcessRunSideBySide(t *testing.T) {
	t.Parallel()
	s := mustShare(t, t.TempDir(), testOptions())
	defer mustClose(t, s)
	fill(t, s, 0, 1)
	e := s.engine.(*shared)
	read := func(want error) error {
		return e.View(t.Context(), func(r store.Reader) error {
			if _, err := r.Get("new"); !errors.Is(err, want) {
				return fmt.Errorf("Get = %v, want %v", err, want)
			}
			return nil
		})
	}
	err := e.Update(t.Context(), func(tx store.Tx) error {
		return errors.Join(tx.Set("new", nil), read(store.ErrNotFound), e.View(t.Context(), func(store.Reader) error { return read(store.ErrNotFound) }))
	})
	if err := errors.Join(err, read(nil)); err != nil {
		t.Error(err)
	}
}

// A store in use is closed when the call that runs has ended, and one that begins meanwhile
// is refused.
func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	s := mustShare(t, t.TempDir(), testOptions())
	fill(t, s, 0, 1)
	e, closed := s.engine.(*shared), make(chan error, 1)
	err := e.View(t.Context(), func(r store.Reader) error {
		go func() { closed <- e.Close() }()
		for begun := false; !begun; time.Sleep(time.Millisecond) {
			<-e.turn
			begun = e.closed
			e.giveTurn()
		}
		_, err := r.Get("nothing")
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a call during Close: %v, want ErrNotFound", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := e.View(t.Context(), func(store.Reader) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call after Close: %v, want ErrClosed", err)
	}
	mustClose(t, s)
}

func TestIdleStoreIsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions()
	o.Linger = time.Millisecond
	s := mustShare(t, dir, o)
	defer mustClose(t, s)
	fill(t, s, 0, 1)
	e := s.engine.(*shared)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		<-e.turn
		idle := e.session == nil
		e.giveTurn()
		if idle {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the store stays open")
		}
	}
	var size int64
	for _, path := range storeFiles(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 2<<20 {
		t.Errorf("an idle store has %d bytes", size)
	}
}

func TestSharedErrorsComeFromTheCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	populate(t, dir, testOptions(), 1)
	if err := os.WriteFile(filepath.Join(dir, headName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustShare(t, dir, testOptions())
	defer mustClose(t, s)
	for range 2 {
		if _, err := s.KV().Get(t.Context(), "key/00001"); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("Get = %v, want ErrDamaged", err)
		}
	}
}
