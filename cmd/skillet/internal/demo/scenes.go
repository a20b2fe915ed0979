package demo

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is what is worked on.
//
//go:embed page.md
var page string

// A scene is one part of the demo.
type scene struct {
	title string
	play  func(*stage) error
}

func scenes() []scene {
	return []scene{
		{"Install the first-party skills", (*stage).installAll},
		{"Turn a page of Markdown into text, and count its words", (*stage).readIt},
		{"Read a file that was granted, and try one that was not", (*stage).files},
		{"Fetch a page that was granted, and try another host", (*stage).network},
		{"A skill that never ends, and one that eats all memory", (*stage).limits},
		{"A skill written by a model asks for the network", (*stage).proposal},
		{"The same skill, changed by one byte", (*stage).tamper},
		{"Everything is in the audit log, and nobody can change it unseen", (*stage).audit},
	}
}

func (s *stage) installAll() error {
	s.say("Skills are WebAssembly modules. With no grants they can compute and answer, nothing else.")
	s.say("Only `files` asks for something: to read the files of one directory, here %s.", s.docs)
	s.say("They come with the program, which has their digests: no registry is asked, and other bytes would be refused.")
	if _, err := s.run(0, append([]string{"install", "--yes", "--workspace", s.docs}, Needs()...)...); err != nil {
		return err
	}
	_, err := s.run(0, "list")
	return err
}

func (s *stage) readIt() error {
	in, err := s.input("readme.json", map[string]string{"markdown": page})
	if err != nil {
		return err
	}
	o, err := s.run(0, "run", "markdown:markdown_to_text", "--input", in)
	if err != nil {
		return err
	}
	var text struct{ Text string }
	if err := json.Unmarshal([]byte(o.out), &text); err != nil || len(text.Text) < 100 {
		return errors.Join(fmt.Errorf("no text came back: %s", o.out), err)
	}
	if in, err = s.input("text.json", map[string]string{"text": text.Text}); err != nil {
		return err
	}
	_, err = s.run(0, "run", "text:statistics", "--input", in)
	return err
}

func (s *stage) files() error {
	plan, diary := filepath.Join(s.docs, "plan.txt"), filepath.Join(s.dir, "private", "diary")
	if _, err := s.run(0, "permission", "show", "files"); err != nil {
		return err
	}
	if _, err := s.run(0, "run", "files:read_text", "path="+plan); err != nil {
		return err
	}
	s.say("Another file is refused, and the refusal says how a person could allow it:")
	if _, err := s.run(3, "run", "files:read_text", "path="+diary); err != nil {
		return err
	}
	s.say("A link inside the directory that points outside does not help:")
	if err := os.Symlink(diary, filepath.Join(s.docs, "link")); err != nil {
		return err
	}
	_, err := s.run(3, "run", "files:read_text", "path="+filepath.Join(s.docs, "link"))
	return err
}

func (s *stage) network() error {
	s.say("A web server runs on this machine. Private addresses are refused unless a person names them:")
	if _, err := s.run(0, "permission", "grant", "http", "http:GET "+s.server.url("/*")); err != nil {
		return err
	}
	if _, err := s.run(0, "run", "http:http_get", "url="+s.server.url("/price")); err != nil {
		return err
	}
	_, err := s.run(3, "run", "http:http_get", "url=http://elsewhere.example/price")
	return err
}

// Two modules, byte by byte, as a hostile author would write them.
var (
	// (module (func (export "spin") (loop br 0)))
	spin = []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" +
		"\x07\x08\x01\x04spin\x00\x00" + "\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b")
	// (module (memory 1) (func (export "eat") (loop
	//   (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable)) br 0)))
	eat = []byte("\x00asm\x01\x00\x00\x00" + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" +
		"\x07\x07\x01\x03eat\x00\x00" + "\x0a\x14\x01\x12\x00\x03\x40\x41\x10\x40\x00\x41\x7f\x46\x04\x40\x00\x0b\x0c\x00\x0b\x0b")
)

func (s *stage) limits() error {
	for name, wasm := range map[string][]byte{"spin.wasm": spin, "eat.wasm": eat} {
		if err := os.WriteFile(filepath.Join(s.dir, name), wasm, 0o644); err != nil {
			return err
		}
	}
	s.say("Any module runs from its path, with nothing granted and nothing installed. This one loops for ever:")
	if _, err := s.run(4, "run", "./spin.wasm:spin", "--timeout", "500ms"); err != nil {
		return err
	}
	s.say("Fuel counts instructions: the same everywhere, every time:")
	if _, err := s.run(4, "run", "./spin.wasm:spin", "--max-fuel", "1000000"); err != nil {
		return err
	}
	s.say("This one takes memory until there is none:")
	if _, err := s.run(4, "run", "./eat.wasm:eat", "--max-memory-mb", "8"); err != nil {
		return err
	}
	s.say("The host is as well as before:")
	_, err := s.run(0, "run", "text:statistics", "text=still here")
	return err
}

// price is the package a model wrote: a manifest around a module that fetches.
func (s *stage) price() (string, error) {
	dir := filepath.Join(s.dir, "price-watch")
	wasm, err := s.module("http")
	if err != nil {
		return "", err
	}
	manifest := fmt.Sprintf(`{
  "name": "price-watch", "version": "0.1.0", "description": "tells today's price of a skillet",
  "type": "code_inline", "command": "main.wasm",
  "tools": [{"name": "http_get", "description": "fetch the price list"}],
  "security": {"permissions": {"network": [{"url": %q, "methods": ["GET"], "reason": "the price list is there"}]}}
}`, s.server.url("/price"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.wasm"), wasm, 0o644); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o644)
}

// module takes the module of an installed skill out of the home.
func (s *stage) module(skill string) ([]byte, error) {
	o, err := s.quiet("info", skill, "--json")
	if err != nil || o.code != 0 {
		return nil, errors.Join(fmt.Errorf("info %s: exit code %d: %s", skill, o.code, o.errors), err)
	}
	var about struct {
		Files []struct{ Path, Digest string }
	}
	if err := json.Unmarshal([]byte(o.out), &about); err != nil {
		return nil, err
	}
	for _, f := range about.Files {
		if f.Path == "main.wasm" {
			return os.ReadFile(s.blob(f.Digest))
		}
	}
	return nil, fmt.Errorf("%s has no main.wasm", skill)
}

// blob is where the home keeps bytes of a digest.
func (s *stage) blob(digest string) string {
	algorithm, hex, _ := strings.Cut(digest, ":")
	return filepath.Join(s.home, "blobs", "blobs", algorithm, hex)
}

func (s *stage) proposal() error {
	dir, err := s.price()
	if err != nil {
		return err
	}
	s.say("It is not installed: it waits for a person.")
	if _, err := s.run(6, "install", dir, "--generated-by", "a-model", "--rationale", "you asked for the price every day"); err != nil {
		return err
	}
	if _, err := s.run(5, "run", "price-watch", "--input", "{}"); err != nil {
		return err
	}
	id, err := s.pending()
	if err != nil {
		return err
	}
	s.say("A person looks at it, and says yes:")
	if _, err := s.run(0, "approvals", "show", id); err != nil {
		return err
	}
	if _, err := s.run(0, "approvals", "approve", id, "--yes", "--reason", "one address, one method: fine"); err != nil {
		return err
	}
	_, err = s.run(0, "run", "price-watch", "--input", `{"url":"`+s.server.url("/price")+`"}`)
	return err
}

func (s *stage) pending() (string, error) {
	o, err := s.quiet("approvals", "list", "--json")
	if err != nil {
		return "", err
	}
	var ps []struct{ ID, Digest string }
	if err := json.Unmarshal([]byte(o.out), &ps); err != nil || len(ps) != 1 {
		return "", errors.Join(fmt.Errorf("one proposal should wait: %s", o.out), err)
	}
	return ps[0].ID, nil
}

func (s *stage) tamper() error {
	s.say("Somebody changes one byte of the approved module, in the home itself:")
	wasm, err := s.module("price-watch")
	if err != nil {
		return err
	}
	if err := s.changeByte(wasm); err != nil {
		return err
	}
	if _, err := s.run(7, "run", "price-watch", "--input", "{}"); err != nil {
		return err
	}
	s.say("Or the model sends the package again, with one byte changed. The approval was for other bytes:")
	dir := filepath.Join(s.dir, "price-watch")
	manifest, err := os.ReadFile(filepath.Join(dir, "skill.json"))
	if err != nil {
		return err
	}
	changed := strings.Replace(string(manifest), `"0.1.0"`, `"0.1.1"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "skill.json"), []byte(changed), 0o644); err != nil {
		return err
	}
	_, err = s.run(6, "install", dir, "--generated-by", "a-model")
	return err
}

// changeByte flips the last bit of the installed copy of a module.
func (s *stage) changeByte(wasm []byte) error {
	o, err := s.quiet("info", "price-watch", "--json")
	if err != nil {
		return err
	}
	var about struct {
		Files []struct{ Path, Digest string }
	}
	if err := json.Unmarshal([]byte(o.out), &about); err != nil {
		return err
	}
	for _, f := range about.Files {
		if f.Path != "main.wasm" {
			continue
		}
		bad := append([]byte(nil), wasm...)
		bad[len(bad)-1] ^= 1
		if err := os.Chmod(s.blob(f.Digest), 0o600); err != nil {
			return err
		}
		return os.WriteFile(s.blob(f.Digest), bad, 0o600)
	}
	return fmt.Errorf("price-watch has no main.wasm")
}

func (s *stage) audit() error {
	if _, err := s.run(0, "audit", "--denied"); err != nil {
		return err
	}
	if _, err := s.run(0, "audit", "--limit", "8"); err != nil {
		return err
	}
	_, err := s.run(0, "audit", "verify")
	return err
}
