package sandbox

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

// The engineFiles are where the engine looks for machine code and puts what it has
// compiled: in memory, and nowhere else. What it finds there was verified.
type engineFiles struct {
	mu    sync.Mutex
	given map[string]*givenCode // what the engine can have, by its name
	made  *Code                 // gets what the engine compiles, whole; nil drops it
}

// givenCode is code that the engine can read.
type givenCode struct {
	code  packedCode
	users int        // under engineFiles.mu
	load  sync.Mutex // held by who has the engine load it
}

// engineKey is how the engine names code.
type engineKey = [nameLen / 2]byte

// errEngine means that the engine was exchanged for another one.
var errEngine = errors.New("the engine has no place for machine code")

// cache is the engine's cache of compiled code with the files behind it. The engine
// takes only a directory for them, of which it believes everything and which others
// can write to, and reads it once more after us; so they are put where it keeps the
// directory's name.
func (f *engineFiles) cache() (wazero.CompilationCache, error) {
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

// give lets the engine have code until take.
func (f *engineFiles) give(c Code) (*givenCode, error) {
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
		f.given = map[string]*givenCode{}
	}
	f.given[c.Name] = &givenCode{code: code, users: 1}
	return f.given[c.Name], nil
}

// take is called as often as give.
func (f *engineFiles) take(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if g := f.given[name]; g.users > 1 {
		g.users--
	} else {
		delete(f.given, name)
	}
}

// Get is how the engine reads code.
func (f *engineFiles) Get(key engineKey) (io.ReadCloser, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.given[hex.EncodeToString(key[:])]
	if g == nil {
		return nil, false, nil
	}
	return g.code.reader(), true, nil
}

// Add is how the engine writes code.
func (f *engineFiles) Add(key engineKey, content io.Reader) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made != nil {
		f.made.Name = hex.EncodeToString(key[:])
		f.made.Bytes, err = io.ReadAll(content)
	}
	return err
}

// Delete is how the engine removes code of another version of itself.
func (f *engineFiles) Delete(engineKey) error { return nil }

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
