package findings

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/review/findings/letters"
	"github.com/skillet-run/skillet/host/review/findings/words"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

var phraseRules = []Rule{
	{
		ID: "SK406", Title: "instructions against the user", Severity: Block,
		What: "The manifest (descriptions, schemas, prompts) or SKILL.md has a phrase that sets a model against what it was told: to ignore earlier instructions, to keep something from the user, to send a conversation or credentials somewhere, to be without rules; or it has the marks with which chat formats part speakers. Letters in disguise and invisible characters do not hide a phrase. English is covered best; for German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese and Korean only the phrase about earlier instructions.",
		Why:  "A model reads these texts as soon as the skill is there, before any tool is called. This is how a tool takes over an agent.",
		Do:   "Say what the skill does, and nothing about how a model should treat other instructions. A text that is about such phrases should not quote them whole.",
	},
	{
		ID: "SK407", Title: "description that pushes itself forward", Severity: Warn,
		What: "A description in the manifest or in the front matter of SKILL.md tells the model to always use this tool, to use it before or in place of others, or puts itself in tags such as <IMPORTANT>.",
		Why:  "Descriptions of tools compete for the attention of a model. One that gives orders may be there to get in front of another tool.",
		Do:   "Say what the tool is for, and leave the choice to the model.",
	},
	{
		ID: "SK408", Title: "instructions against the user in other texts", Severity: Warn,
		What: "Another text of the package, a script or the data of a module has a phrase as in SK406.",
		Why:  "A tool can return the text, and what a tool returns is read by a model too.",
		Do:   "See what the text is for. Texts about the safety of models do quote such phrases.",
	},
	{
		ID: "SK409", Title: "text that is not shown", Severity: Info,
		What: "SKILL.md or another Markdown file has a comment with at least four words, or markup that hides text.",
		Why:  "A model reads it, and whoever looks at the page does not see it.",
		Do:   "See what it says. Write what is meant for both into the text.",
	},
}

// A phrase is one way to say something, as a regular expression over folded
// text.
type phrase struct {
	says    string
	anchors []string // words one of which is in each match
	pattern string
	// push is set for phrases of SK407; the others are of SK406.
	push bool
}

// few, some are up to so many words in between.
const (
	few  = `(?:[^ ]+ ){0,3}?`
	some = `(?:[^ ]+ ){0,6}?`
)

var phrases = []phrase{
	{"to ignore what was said before", []string{"ignore", "disregard", "forget"},
		`\b(?:ignore|disregard|forget)\b (?:about )?` + few + `(?:previous|prior|above|earlier|preceding|foregoing|original|system|your) ` + few + `(?:instruction|prompt|direction|rule|guideline|message|guardrail|training)s?\b`, false},
	{"to ignore what was said before", []string{"follow", "obey"},
		`\b(?:do not|don'?t|never|stop) (?:follow|obey)(?:ing)? ` + few + `(?:previous|prior|above|earlier|system|original) ` + few + `(?:instruction|prompt|rule|guideline)s?\b`, false},
	{"to be without rules", []string{"you are now", "jailbr", "developer mode", "no restrictions", "guardrail", "safety"},
		`\byou are now ` + few + `(?:dan\b|unrestricted|jailbroken|in developer mode|free of|without (?:any )?(?:restrictions|rules))|\b(?:bypass|circumvent|turn off) (?:your|all|the model'?s) (?:[^ ]+ )?(?:guardrails|safety (?:rules|filters|guidelines)|restrictions)\b|\bpretend (?:that )?you have no (?:restrictions|rules|guidelines)\b`, false},
	{"to keep something from the user", []string{"user", "human"},
		`\b(?:do not|don'?t|never|without) (?:ever )?(?:tell|telling|inform|informing|alert|alerting|notify|notifying|warn|warning) (?:the|your) (?:user|human)s? (?:about|of|that|anything)\b|\b(?:do not|don'?t|never) (?:mention|reveal|disclose) (?:this|these|that|it|any of this) ` + few + `to the (?:user|human)\b|\b(?:hide|conceal|keep) (?:this|these|it) ` + few + `from the (?:user|human)\b`, false},
	{"to send away what is private", []string{"conversation", "chat history", "system prompt", "credential", "password", "secret", "private key", "ssh key", "api key", "environment variable", ".env"},
		`\b(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|append|encode)\b ` + some + `(?:conversation|chat history|system prompt|credentials?|passwords?|secrets?|private keys?|ssh keys?|api keys?|environment variables|\.env)\b` + ` (?:[^ ]+ ){0,5}?(?:to|at|into|via) (?:https?:|[^ ]+@[^ ]+\.|this (?:url|address|server|endpoint)|(?:an? )?(?:external|remote|attacker))`, false},
	{"to tell its instructions", []string{"system prompt", "instructions"},
		`\b(?:reveal|print|output|repeat|leak|include|quote) ` + few + `your (?:[^ ]+ )?(?:system prompt|hidden instructions|initial instructions)\b`, false},
	{"what parts the speakers of a chat", []string{"<|", "[inst]", "[/inst]", "<<sys>>", "<system-reminder>", "<system_prompt>"},
		`<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text)\|>|\[/?inst\]|<</?sys>>|<system-reminder>|<system_prompt>`, false},

	{"to ignore what was said before (German)", []string{"ignorier", "vergiss", "missachte"},
		`\b(?:ignorier[^ ]*|vergiss|missachte[^ ]*)\b (?:sie )?` + few + `(?:vorherig|bisherig|obig|fruher|vorig|vorangegangen|vorhergehend)[^ ]* ` + few + `(?:anweisung|instruktion|befehl|regel|vorgabe)[^ ]*`, false},
	{"to ignore what was said before (French)", []string{"ignore", "oubli", "compte"},
		`\b(?:ignore[rz]?|oublie[rz]?|ne ten(?:ez|ir)? pas compte)\b ` + few + `(?:instruction|consigne|directive|regle)s? ` + few + `(?:precedente?s?|anterieure?s?|ci-dessus)`, false},
	{"to ignore what was said before (Spanish)", []string{"ignor", "olvid", "descart"},
		`\b(?:ignora|ignore|olvida|olvide|descarta|descarte)\b ` + few + `(?:instrucciones|indicaciones|ordenes|reglas) ` + few + `(?:anteriores|previas)`, false},
	{"to ignore what was said before (Portuguese)", []string{"ignor", "esque", "desconsider"},
		`\b(?:ignore|ignora|esqueca|desconsidere)\b ` + few + `(?:instrucoes|ordens|regras) ` + few + `(?:anteriores|previas|acima)`, false},
	{"to ignore what was said before (Italian)", []string{"ignora", "dimentica", "trascura"},
		`\b(?:ignora|dimentica|trascura)\b ` + few + `(?:istruzioni|indicazioni|regole) ` + few + `(?:precedenti|anteriori)`, false},
	{"to ignore what was said before (Russian)", []string{"игнор", "забуд"},
		`(?:игнорир[^ ]*|забуд[^ ]*) ` + few + `(?:предыдущ|прошл|прежн|вышеуказан)[^ ]* ` + few + `(?:инструкц|указан|правил)`, false},
	{"to ignore what was said before (Chinese)", []string{"忽略", "无视", "忘记", "忽視", "無視"},
		`(?:忽略|无视|忘记|忽視|無視)[^ 。]{0,6}?(?:之前|以前|先前|上面|以上|前面)[^ 。]{0,6}?(?:指令|指示|提示|说明|規則|规则|命令)`, false},
	{"to ignore what was said before (Japanese)", []string{"無視", "忘れ"},
		`(?:以前|これまで|上記|前|先)の[^ 。]{0,8}?(?:指示|命令|プロンプト|ルール)[^ 。]{0,4}?(?:無視|忘れ)`, false},
	{"to ignore what was said before (Korean)", []string{"무시", "잊"},
		`이전[^.]{0,30}?(?:지시|명령|지침)[^.]{0,30}?(?:무시|잊)`, false},

	{"to prefer this tool", []string{"this tool", "this skill"},
		`\b(?:always|must) (?:call|use|invoke|run) this (?:tool|skill) (?:first|before|instead)|\bthis (?:tool|skill) must (?:always )?be (?:called|used|invoked|run) (?:first|before)|\b(?:prefer|choose) this (?:tool|skill) over (?:all|any|every)`, true},
	{"to prefer this tool", []string{"other tool", "other skill"},
		`\bbefore (?:using|calling|invoking|running) any other (?:tool|skill)|\binstead of (?:any|all) other (?:tool|skill)s?|\b(?:do not|don'?t|never) (?:use|call) (?:any )?other (?:tool|skill)s?`, true},
	{"what asks for attention", []string{"<important>", "<critical>", "<system>"}, `<(?:important|critical|system)>`, true},
}

// A phrasebook is the phrases made ready. It does not change.
type phrasebook struct {
	words    *words.Set
	users    [][]int // phrases of each word
	patterns []*regexp.Regexp
}

// phraseTable is the phrases, folded like the texts they are looked for in, and made
// ready at their first use.
var phraseTable = sync.OnceValue(func() *phrasebook {
	b := &phrasebook{}
	var anchors []string
	for i, p := range phrases {
		b.patterns = append(b.patterns, regexp.MustCompile(fold(p.pattern)))
		for _, a := range p.anchors {
			at := slices.Index(anchors, fold(a))
			if at < 0 {
				at = len(anchors)
				anchors, b.users = append(anchors, fold(a)), append(b.users, nil)
			}
			b.users[at] = append(b.users[at], i)
		}
	}
	b.words = words.New(anchors)
	return b
})

func fold(text string) string { return string(letters.Fold([]byte(text)).Text) }

// Bounds on the search: how far a phrase reaches from its anchor, how much of a
// text is folded at once, and how many anchors of a package are looked at.
const (
	phraseReach = 300
	phraseChunk = 1 << 20
	maxAnchors  = 50_000
)

// phrases looks for instructions to a model.
func (s *scan) phrases() {
	r := rhetoric{scan: s, seen: map[string]bool{}}
	described := s.descriptions()
	for _, p := range described {
		r.look(p, true)
	}
	for p := range s.passages {
		if s.over() {
			return
		}
		r.look(p, false)
	}
	for p := range s.encoded {
		if s.over() {
			return
		}
		r.look(p, false)
	}
	for _, f := range s.files {
		s.hiddenMarkup(f)
	}
}

// rhetoric is the search for phrases.
type rhetoric struct {
	*scan
	anchors int             // looked at so far
	seen    map[string]bool // rule and phrase, of those found in the manifest
}

// look searches a passage, piece by piece. In a description, phrases that push
// are looked for too; and only those, as the others are found elsewhere.
func (r *rhetoric) look(p passage, description bool) {
	for from := 0; from < len(p.text); from += phraseChunk - 8*phraseReach {
		to := min(len(p.text), from+phraseChunk)
		r.piece(p, from, letters.Fold(p.text[from:to]), description)
		if to == len(p.text) {
			return
		}
	}
}

func (r *rhetoric) piece(p passage, from int, f letters.Folded, description bool) {
	b := phraseTable()
	ends := make([]int, len(phrases)) // how far a phrase was looked for
	b.words.Each(f.Text, func(word, end int) {
		for _, i := range b.users[word] {
			if phrases[i].push != description || end < ends[i] {
				continue
			}
			if r.anchors++; r.anchors > maxAnchors {
				continue
			}
			begin := max(ends[i], end-phraseReach, 0)
			stop := min(len(f.Text), end+phraseReach)
			ends[i] = min(stop, end+phraseReach/2)
			if m := b.patterns[i].FindIndex(f.Text[begin:stop]); m != nil {
				start, stop := f.Origin(begin+m[0], begin+m[1])
				r.tell(p, i, string(f.Text[begin+m[0]:begin+m[1]]), from+start, from+stop)
				ends[i] = begin + m[1]
			}
		}
	})
	if r.anchors > maxAnchors {
		r.about("SK001", r.manifestFile(), "not all places that may be instructions to a model were looked at")
	}
}

// tell keeps a phrase that was found. What the manifest says in two notations is
// told once.
func (r *rhetoric) tell(p passage, i int, text string, from, to int) {
	rule := "SK408"
	switch {
	case phrases[i].push:
		rule = "SK407"
	case p.file.role == roleManifest || p.file.role == roleSkillMD:
		rule = "SK406"
	}
	key := rule + " " + strings.TrimSpace(text)
	if p.file.role == roleManifest {
		if r.seen[key] && !p.verbatim {
			return
		}
		r.seen[key] = true
	}
	at, n := p.position(from, to)
	r.add(rule, p.file, at, n, "it says "+phrases[i].says)
}

var markup = lazyregexp.New(`(?i)<[a-z][^<>]*(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|opacity:\s*0[^.]|color:\s*(?:white|#fff\b|#ffffff|transparent))[^<>]*>`)

// hiddenMarkup looks for text that a page does not show.
func (s *scan) hiddenMarkup(f *file) {
	const most = 1000
	if f.role != roleSkillMD && (f.role != roleProse || !f.has(".md", ".markdown")) {
		return
	}
	for at := range comments(f.data) {
		if fenced(f.data[:at.from]) {
			continue
		}
		if n := len(bytes.Fields(f.data[at.from:at.to])); n >= 6 { // four words and the marks
			s.add("SK409", f, at.from, at.to-at.from, fmt.Sprintf("a comment of %d words", n-2))
		}
	}
	for _, m := range markup().FindAllIndex(f.data, most) {
		s.add("SK409", f, m[0], m[1]-m[0], "markup that hides text")
	}
}

// fenced reports whether what follows a Markdown text is in a block of code,
// which is shown as it is.
func fenced(before []byte) bool {
	return (bytes.Count(before, []byte("\n```"))+bytes.Count(before, []byte("\n~~~")))%2 == 1
}

// comments yields where the comments of a Markdown file stand.
func comments(text []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		for at := 0; ; {
			from := bytes.Index(text[at:], []byte("<!--"))
			if from < 0 {
				return
			}
			from += at
			n := bytes.Index(text[from:], []byte("-->"))
			if n < 0 || !yield(part{from: from, to: from + n + 3}) {
				return
			}
			at = from + n + 3
		}
	}
}
