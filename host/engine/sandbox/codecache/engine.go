package codecache

import (
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/tetratelabs/wazero"
)

// Engine is where the engine looks for machine code and puts what it has
// compiled: in memory, and nowhere else. What it finds there was verified.
type Engine struct {
	mu    sync.Mutex
	given map[string]*Given // what the engine can have, by its name
	Made  *Code             // gets what the engine compiles, whole; nil drops it
}

// Given is code that the engine can read.
type Given struct {
	code  packedCode
	users int        // under Engine.mu
	Load  sync.Mutex // held by who has the engine load it
}

// engineKey is how the engine names code.
type engineKey = [nameLen / 2]byte

// errEngine means that the engine was exchanged for another one.
var errEngine = errors.New("the engine has no place for machine code")

// Cache is the engine's cache of compiled code with the files behind it. The engine
// takes only a directory for them, of which it believes everything and which others
// can write to, and reads it once more after us; so they are put where it keeps the
// directory's name.
func (f *Engine) Cache() (wazero.CompilationCache, error) {
	cache := wazero.NewCompilationCache()
	held := reflect.ValueOf(cache)
	if held.Kind() != reflect.Pointer || held.Elem().Kind() != reflect.Struct {
		return nil, errEngine
	}
	place := held.Elem().FieldByName("fileCache")
	if !place.IsValid() || place.Kind() != reflect.Interface || !reflect.TypeOf(f).Implements(place.Type()) {
		return nil, errEngine
	}
	reflect.NewAt(place.Type(), place.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(f))
	return cache, nil
}

// Give lets the engine have code until Take.
func (f *Engine) Give(c Code) (*Given, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.given[c.Name]; g != nil {
		g.users++
		return g, nil
	}
	code, err := parsePackedCode(c.Bytes)
	if err != nil {
		return nil, err
	}
	if f.given == nil {
		f.given = map[string]*Given{}
	}
	f.given[c.Name] = &Given{code: code, users: 1}
	return f.given[c.Name], nil
}

// Take is called as often as Give.
func (f *Engine) Take(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.given[name]; g.users > 1 {
		g.users--
	} else {
		delete(f.given, name)
	}
}

// Get is how the engine reads code.
func (f *Engine) Get(key engineKey) (io.ReadCloser, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.given[hex.EncodeToString(key[:])]
	if g == nil {
		return nil, false, nil
	}
	return g.code.reader(), true, nil
}

// Add is how the engine writes code.
func (f *Engine) Add(key engineKey, content io.Reader) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Made != nil {
		f.Made.Name = hex.EncodeToString(key[:])
		f.Made.Bytes, err = io.ReadAll(content)
	}
	return err
}

// Delete is how the engine removes code of another version of itself.
func (f *Engine) Delete(engineKey) error { return nil }

const engineModule = "github.com/tetratelabs/wazero"

// engineName names the engine that compiles: its version and platform.
var engineName = sync.OnceValue(func() string {
	version := "dev"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == engineModule {
				version = d.Version
			}
		}
	}
	return "wazero-" + version + "-" + runtime.GOARCH + "-" + runtime.GOOS
})
