// A guest that does a bit of everything, in an order that its seed says, and
// answers with what came of it.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func main() {}

// version is changed by the linker for another version of the guest.
var version = "1"

type input struct {
	Seed  uint64 `json:"seed"`
	Steps int    `json:"steps"`
	Dir   string `json:"dir"`
	URL   string `json:"url"`
}

type output struct {
	Said []string `json:"said"`
	Hash string   `json:"hash"`
}

//go:wasmexport everything
func everything() int32 {
	return skill.Handle(func(in input) (output, error) {
		out, rng := output{Said: []string{}}, mathrand.New(mathrand.NewPCG(in.Seed, 7))
		h := fnv.New64a()
		for i := range in.Steps {
			n := rng.IntN(len(steps))
			text, err := steps[n](in, i)
			line := fmt.Sprintf("%d: %s %v", n, text, err)
			out.Said = append(out.Said, line)
			fmt.Fprintln(h, line)
		}
		out.Hash = hex.EncodeToString(h.Sum(nil))
		switch rng.IntN(8) {
		case 0:
			return out, errors.New("it ends badly: " + out.Hash)
		case 1:
			fmt.Fprintln(os.Stderr, "a last word", out.Hash)
		}
		return out, nil
	})
}

// ask asks for one thing more than the version before, where it is a second one.
//
//go:wasmexport ask
func ask() int32 {
	return skill.Handle(func(in input) (string, error) {
		v, err := skill.KVGet("greeting")
		if err != nil {
			return "", err
		}
		if version == "2" {
			if _, err := skill.KVGet("farewell"); err != nil {
				return "hello " + string(v.Data) + ", " + string(skill.KindOf(err)), nil
			}
		}
		return "hello " + string(v.Data), nil
	})
}

// spin computes for ever.
//
//go:wasmexport spin
func spin() int32 {
	return skill.Handle(func(in input) (int, error) {
		for n := 0; ; n++ {
			if n < 0 {
				return n, nil
			}
		}
	})
}

var steps = []func(in input, i int) (string, error){
	func(in input, i int) (string, error) { return time.Now().String(), nil },
	func(in input, i int) (string, error) {
		start := time.Now()
		time.Sleep(time.Millisecond)
		return strconv.FormatInt(int64(time.Since(start)), 10), nil
	},
	func(in input, i int) (string, error) {
		b := make([]byte, 1+i%40)
		_, err := rand.Read(b)
		return hex.EncodeToString(b), err
	},
	func(in input, i int) (string, error) { return strconv.Itoa(mathrand.IntN(1 << 30)), nil },
	func(in input, i int) (string, error) {
		b, err := os.ReadFile(filepath.Join(in.Dir, "in.txt"))
		return string(b), err
	},
	func(in input, i int) (string, error) {
		_, err := os.ReadFile(filepath.Join(in.Dir, "missing.txt"))
		return "", err
	},
	func(in input, i int) (string, error) {
		return "", os.WriteFile(filepath.Join(in.Dir, fmt.Sprintf("out%d.txt", i%3)), []byte(time.Now().String()), 0o600)
	},
	appendTo, listDir,
	func(in input, i int) (string, error) {
		return "", os.Remove(filepath.Join(in.Dir, fmt.Sprintf("out%d.txt", i%3)))
	},
	func(in input, i int) (string, error) {
		st, err := os.Stat(filepath.Join(in.Dir, "in.txt"))
		if err != nil {
			return "", err
		}
		return st.ModTime().String() + strconv.FormatInt(st.Size(), 10), nil
	},
	func(in input, i int) (string, error) {
		return "", os.Mkdir(filepath.Join(in.Dir, fmt.Sprintf("sub%d", i%2)), 0o700)
	},
	func(in input, i int) (string, error) {
		_, err := skill.KVPut(fmt.Sprintf("k%d", i%4), []byte(time.Now().String()), skill.PutOptions{})
		return "", err
	},
	func(in input, i int) (string, error) {
		v, err := skill.KVGet(fmt.Sprintf("k%d", i%4))
		return fmt.Sprint(string(v.Data), v.Found, v.Revision), err
	},
	func(in input, i int) (string, error) {
		keys, err := skill.KVList("", 10)
		return fmt.Sprint(keys), err
	},
	func(in input, i int) (string, error) {
		r, err := skill.HTTP(skill.Request{URL: in.URL + "/count?i=" + strconv.Itoa(i)})
		return fmt.Sprint(r.Status, string(r.Body), r.Headers), err
	},
	func(in input, i int) (string, error) {
		r, err := skill.HTTP(skill.Request{Method: "POST", URL: in.URL + "/count", Body: []byte{0xff, 0, byte(i)}})
		return fmt.Sprintf("%d %x", r.Status, r.Body), err
	},
	func(in input, i int) (string, error) {
		_, err := skill.HTTP(skill.Request{URL: "http://other.example/"})
		return "", err
	},
	func(in input, i int) (string, error) {
		ok, err := skill.SecretExists("token")
		return fmt.Sprint(ok), err
	},
	func(in input, i int) (string, error) {
		return "", skill.Notify(skill.Notification{Title: "step " + strconv.Itoa(i)})
	},
	func(in input, i int) (string, error) {
		return "", skill.Log(skill.LevelInfo, time.Now().String(), skill.Field{Key: "step", Value: strconv.Itoa(i)})
	},
	func(in input, i int) (string, error) {
		b, err := skill.ReadFile(filepath.Join(in.Dir, "in.txt"))
		return string(b), err
	},
	func(in input, i int) (string, error) {
		_, err := skill.ReadFile("/etc/passwd")
		return "", err
	},
	vars,
}

func appendTo(in input, i int) (string, error) {
	f, err := os.OpenFile(filepath.Join(in.Dir, "log.txt"), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "line %d %s\n", i, time.Now()); err != nil {
		return "", err
	}
	if _, err := f.Seek(3, io.SeekStart); err != nil {
		return "", err
	}
	b, err := io.ReadAll(f)
	return string(b), err
}

func listDir(in input, i int) (string, error) {
	all, err := os.ReadDir(in.Dir)
	return fmt.Sprint(all), err
}

// vars keeps something in a variable of the Extism ABI, and reads a setting and
// what it kept.
func vars(in input, i int) (string, error) {
	name := block([]byte("var" + strconv.Itoa(i%2)))
	before := text(varGet(name))
	varSet(block([]byte("var"+strconv.Itoa(i%2))), block([]byte(time.Now().String())))
	return before + text(configGet(block([]byte("setting")))), nil
}

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env length
func length(off uint64) uint64

//go:wasmimport extism:host/env load_u8
func load(off uint64) uint32

//go:wasmimport extism:host/env store_u8
func store(off uint64, b uint32)

//go:wasmimport extism:host/env var_get
func varGet(name uint64) uint64

//go:wasmimport extism:host/env var_set
func varSet(name, value uint64)

//go:wasmimport extism:host/env config_get
func configGet(name uint64) uint64

func block(b []byte) uint64 {
	off := alloc(uint64(len(b)))
	for i, c := range b {
		store(off+uint64(i), uint32(c))
	}
	return off
}

func text(off uint64) string {
	b := make([]byte, length(off))
	for i := range b {
		b[i] = byte(load(off + uint64(i)))
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}
