package findings

import (
	"fmt"

	"github.com/skillet-run/skillet/host/review/findings/letters"
	"github.com/skillet-run/skillet/host/review/findings/script"
)

var unseenRules = []Rule{
	{
		ID: "SK401", Title: "text in characters that cannot be seen", Severity: Block,
		What: "A text holds characters of the block Tags, other than in the flag of a region, or at least eight characters in a row that have no shape. Both are ways to write something that models read and people do not see; where it can be read, the message says it.",
		Why:  "Whoever approves the text sees another text than the model gets.",
		Do:   "Remove the characters. No editor puts them there by itself.",
	},
	{
		ID: "SK402", Title: "characters that turn the direction of text", Severity: Block,
		What: "A script, the manifest or SKILL.md holds characters that embed, override or isolate a direction of writing (U+202A to U+202E, U+2066 to U+2069).",
		Why:  "What is shown is in another order than what is run or read: a comment can look like code, and code like a comment.",
		Do:   "Remove the characters. In a literal that needs them, write them as escapes.",
	},
	{
		ID: "SK403", Title: "characters without a shape", Severity: Warn,
		What: "A script, the manifest, SKILL.md or a text for people holds characters without width or shape, such as U+200B, where the script or emoji around them does not call for them; or it turns the direction of writing, in a text for people.",
		Why:  "They part words, so that searches and filters do not find them, and can mark a text.",
		Do:   "Remove them. They often come from copying out of web pages.",
	},
	{
		ID: "SK404", Title: "control characters", Severity: Warn,
		What: "A text holds control characters other than tabs and the ends of lines, such as the one that begins an escape sequence of a terminal.",
		Why:  "On a terminal they can hide or rewrite what stands before them.",
		Do:   "Remove them, or write them as escapes of the language.",
	},
	{
		ID: "SK405", Title: "letters that look like others", Severity: Warn,
		What: "A word in the manifest, in SKILL.md or in a name of a script mixes Latin letters with letters of other scripts that look the same; or a name consists of nothing but such letters.",
		Why:  "A name can look like one that people trust, and two names that look the same can be different.",
		Do:   "Write the word with the letters of one script.",
	},
}

// unseen looks for what people do not see in texts.
func (s *scan) unseen() {
	const most = 10_000 // of one file; each is told or counted
	for _, f := range s.files {
		if !f.text || s.over() {
			continue
		}
		p := f.whole()
		for _, r := range letters.Runs(p.text, most) {
			s.run(p, r)
		}
		s.lookalikes(f)
	}
	for _, p := range s.decodedTexts() {
		for _, r := range letters.Runs(p.text, most) {
			s.run(p, r)
		}
		for _, w := range letters.Disguised(p.text, most) {
			s.disguised(p, w)
		}
	}
}

// run judges a run of characters that cannot be seen.
func (s *scan) run(p passage, r letters.Run) {
	const many = 8
	read := p.file.role == roleScript || p.file.role == roleManifest || p.file.role == roleSkillMD
	switch {
	case r.Usual:
	case r.Kind == letters.Tag, r.Kind == letters.Shapeless && r.Count >= many:
		s.unseenRun("SK401", p, r, "characters that cannot be seen")
	case r.Kind == letters.Turn && read:
		s.unseenRun("SK402", p, r, "characters that turn the direction")
	case r.Kind == letters.Control:
		s.unseenRun("SK404", p, r, "control characters")
	case read || p.file.role == roleProse:
		s.unseenRun("SK403", p, r, "characters without a shape")
	}
}

func (s *scan) unseenRun(rule string, p passage, r letters.Run, what string) {
	first := []rune(string(p.text[r.Start:min(r.End, r.Start+4)]))[0]
	message := fmt.Sprintf("%d %s, the first is %U", r.Count, what, first)
	if r.Text != "" {
		message += fmt.Sprintf("; they say %q", r.Text)
	}
	at, n := p.position(r.Start, r.End)
	s.add(rule, p.file, at, n, message)
}

// lookalikes looks for disguised words, where names are or texts are short.
func (s *scan) lookalikes(f *file) {
	const most = 1000
	switch f.role {
	case roleManifest, roleSkillMD:
		for _, w := range letters.Disguised(f.data, most) {
			s.disguised(f.whole(), w)
		}
	case roleScript:
		for t := range script.Tokens(script.LanguageOf(f.path), f.data) {
			if t.Kind != script.Name {
				continue
			}
			for _, w := range letters.Disguised([]byte(t.Text), 1) {
				s.add("SK405", f, t.Start, t.End-t.Start, fmt.Sprintf("the name reads as %q, and is not", w.Plain))
			}
		}
	}
}

// disguised judges a word of a text, where a word of another script is nothing
// odd.
func (s *scan) disguised(p passage, w letters.Word) {
	if w.Whole {
		return
	}
	at, n := p.position(w.Start, w.End)
	s.add("SK405", p.file, at, n, fmt.Sprintf("the word reads as %q, and is not", w.Plain))
}
