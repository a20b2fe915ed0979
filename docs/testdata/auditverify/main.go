// Auditverify checks an export of skillet's audit log with nothing but the
// standard library: go run . EXPORT KEY. docs/audit.md describes the format.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func check(ok bool, n int, why string) {
	if !ok {
		fmt.Printf("line %d: %s\n", n+1, why)
		os.Exit(7)
	}
}

// open returns the lines of a note's text when one of the keys has signed it.
func open(note string, keys []string) []string {
	text, sigs, _ := strings.Cut(note, "\n\n")
	for _, k := range keys {
		p := strings.SplitN(k, "+", 3) // name, hash, algorithm and key
		sig, isBy := strings.CutPrefix(sigs, "— "+p[0]+" ")
		b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(sig, "\n"))
		key, err2 := base64.StdEncoding.DecodeString(p[2])
		if isBy && err == nil && err2 == nil && len(b) == 68 && hex.EncodeToString(b[:4]) == p[1] &&
			strings.Count(sigs, "\n") == 1 && ed25519.Verify(key[1:], []byte(text+"\n"), b[4:]) {
			return strings.Split(text, "\n")
		}
	}
	return []string{"", "", ""}
}

func hexOf(b64 string) string {
	b, _ := base64.StdEncoding.DecodeString(b64)
	return hex.EncodeToString(b)
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	check(err == nil, -1, "cannot be read")
	lines := bytes.SplitAfter(file, []byte("\n"))
	last := len(lines) - 2 // behind the last line feed there is nothing
	check(last > 0 && len(lines[last+1]) == 0, len(lines)-1, "the export was cut")
	var head struct {
		Home string
		Keys []struct{ Key, By string }
	}
	check(json.Unmarshal(lines[0], &head) == nil && len(head.Keys) > 0, 0, "no header")
	var keys []string // all; the last one has signed the export
	known := false
	for i, k := range head.Keys {
		if known { // each key after the known one was named by the one before
			named := open(k.By, keys[i-1:])
			check(named[len(named)-1] == "next "+k.Key, 0, "a key that nobody named")
		}
		keys, known = append(keys, k.Key), known || k.Key == os.Args[2]
	}
	check(known, 0, "signed by another key")
	current, empty := keys[len(keys)-1:], fmt.Sprintf("%x", sha256.Sum256(nil))
	seq, first, hash, count, within, after, heads := 0, 0, "", 0, false, "", []string{}
	for n := 1; n < last; n++ {
		var l struct {
			Seq              int
			Prev, Checkpoint string
		}
		check(json.Unmarshal(lines[n], &l) == nil, n, "no JSON")
		if bytes.HasPrefix(lines[n], []byte(`{"checkpoint":`)) {
			c, isEnd := open(l.Checkpoint, keys), strings.Contains(l.Checkpoint, "\nexport ")
			if isEnd && !within { // the first of two: a log begins
				_, err := fmt.Sscan(c[1], &seq)
				check(err == nil, n, "a checkpoint that does not hold")
				hash, after, first = hexOf(c[2]), "", seq
			} else if isEnd {
				log, _ := json.Marshal(strings.TrimPrefix(c[0], head.Home+"/"))
				full := "sha256:" + hash
				if seq == 0 {
					full = ""
				}
				heads = append(heads, fmt.Sprintf(`{"log":%s,"first":%d,"last":%d,"hash":"%s"}`, log, first+1, seq, full))
			}
			digest := sha256.Sum256([]byte(l.Checkpoint))
			if !isEnd {
				check(after == "" || strings.Contains(l.Checkpoint, "\nafter "+after+"\n"), n, "a checkpoint is missing")
				after = base64.StdEncoding.EncodeToString(digest[:])
			}
			check(c[1] == fmt.Sprint(seq) && hexOf(c[2]) == hash && (isEnd || within), n, "a checkpoint that does not fit")
			within = within != isEnd
			continue
		}
		cut := bytes.LastIndex(lines[n], []byte(`,"hash":"sha256:`))
		check(cut > 0 && within, n, "no entry of a log")
		before := hash
		if hash == empty && seq == 0 {
			before = ""
		}
		hash = fmt.Sprintf("%x", sha256.Sum256(append(bytes.Clone(lines[n][:cut]), '}')))
		check(string(lines[n][cut:]) == `,"hash":"sha256:`+hash+"\"}\n", n, "the entry does not match its hash")
		check(l.Seq == seq+1 && strings.TrimPrefix(l.Prev, "sha256:") == before, n, "the entry does not follow")
		seq, count = l.Seq, count+1
	}
	var end struct{ Statement string }
	begins := fmt.Sprintf(`{"entries":%d,"heads":[%s],"statement":"`, count, strings.Join(heads, ","))
	check(strings.HasPrefix(string(lines[last]), begins) && json.Unmarshal(lines[last], &end) == nil && !within, last, "no last line, or one with other counts")
	s, sum := open(end.Statement, current), sha256.Sum256(bytes.Join(lines[:last], nil))
	check(s[0] == head.Home+"/export" && s[1] == fmt.Sprint(last) && hexOf(s[2]) == hex.EncodeToString(sum[:]), last, "it is about another export")
	fmt.Printf("ok: %d entries\n", count)
}
