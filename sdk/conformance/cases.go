// Package conformance says what a skill written with any of the SDKs does: a table of calls with their grants,
// inputs and answers, for a skill that has a tool for each host function and a few of its own. The same skill
// is beside it in each language.
//
// The package is the table and the list of languages. It refuses to know what runs them: its tests do, in the
// sandbox and in the reference engine.
package conformance

import "strings"

// A Case is one call of the conformance skill.
type Case struct {
	// Name is unique.
	Name string
	Call
	// Before are calls that are made first, with the same grants and the same state; they succeed.
	Before []Call
	// Grants are capabilities. In them and in everything below, {dir} is the directory of files, {url} that of the
	// server and {closed} an address where nobody listens.
	Grants []string
	World  World
	// Output is the JSON value that is the output, or the bytes themselves for a Raw case. In it "*" stands for
	// any value, and an object with the member "..." may have more members.
	Output string
	// Kind is that of the error that the call ends with; empty for none.
	Kind string
	// Message is what the error says; one that ends with "..." only begins so, one that begins with "..." holds it.
	Message string
	// Left is what is there afterwards.
	Left Left
	// Raw says that the tool takes and gives bytes that need not be JSON, which a script cannot.
	Raw bool
}

// Call is a tool and its input.
type Call struct {
	Tool  string
	Input string
}

// World is what is special about the host of a case. The zero value is a host with everything: files, a server, a
// store, the secret "known", somebody to notify, the skill "echo" and the model "parrot".
type World struct {
	// NoStore, NoNotifier, NoSkills and NoModels take away what the functions need.
	NoStore, NoNotifier, NoSkills, NoModels bool
	// FileBytes bounds each file, Entries all listings, HTTPBytes each body; 0 is the usual.
	FileBytes int64
	Entries   int
	HTTPBytes int64
	// Notifications bounds notifications; 0 is the usual.
	Notifications int
	// Unreadable makes the store and the secrets fail.
	Unreadable bool
}

// Left is what a call leaves behind. What is empty is not compared.
type Left struct {
	// Files are contents by their name in the directory.
	Files map[string]string
	// Logs are lines: "level message key=value".
	Logs []string
	// Notifications are "severity title: text".
	Notifications []string
	// Asked are requests to skills and models, in the words of the test.
	Asked []string
}

// Long is a text of n bytes.
func Long(n int) string { return strings.Repeat("0123456789abcdef", n/16+1)[:n] }

// Cases returns the whole table.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{inputs(), failures(), files(), web(), state(), messages(), others()} {
		all = append(all, group...)
	}
	return all
}

// inputs are about input and output.
func inputs() []Case {
	const everything = `{"text":"a \"b\" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00 \u0001","int":-9007199254740991,"float":0.1,"flag":true,` +
		`"list":[1,-2,3],"map":{"k":"v","\u00fc":""},"maybe":"x","inner":{"depth":7}}`
	const nothing = `{"text":"","int":0,"float":0,"flag":false,"list":[],"map":{},"maybe":null,"inner":{"depth":0}}`
	return []Case{
		{Name: "echo", Call: Call{"echo", "some bytes"}, Output: "some bytes", Raw: true},
		{Name: "echo nothing", Call: Call{"echo", ""}, Output: "", Raw: true},
		{Name: "echo what is not text", Call: Call{"echo", "\x00\xff\xfe\n\x80"}, Output: "\x00\xff\xfe\n\x80", Raw: true},
		{Name: "echo 1 MB", Call: Call{"echo", Long(1 << 20)}, Output: Long(1 << 20), Raw: true},
		{Name: "values", Call: Call{"values", everything}, Output: everything},
		{Name: "values that are nothing", Call: Call{"values", nothing}, Output: nothing},
		{Name: "values that are missing", Call: Call{"values", `{}`}, Output: nothing},
		{Name: "values with others beside", Call: Call{"values", `{"other":[{"x":null},[[]]],"int":5}`}, Output: strings.Replace(nothing, `"int":0`, `"int":5`, 1)},
		{Name: "values with spaces", Call: Call{"values", " {\n\t\"int\" : 5 , \"list\" : [ 1 , 2 ]\r} "}, Output: `{"text":"","int":5,"float":0,"flag":false,"list":[1,2],"map":{},"maybe":null,"inner":{"depth":0}}`},
		{Name: "values in unicode", Call: Call{"values", `{"text":"Grüße, 世界 \u4e16\u754c \ud83d\ude80 🚀","map":{"ключ":"значение"}}`},
			Output: `{"text":"Grüße, 世界 世界 🚀 🚀","int":0,"float":0,"flag":false,"list":[],"map":{"ключ":"значение"},"maybe":null,"inner":{"depth":0}}`},
		{Name: "values of numbers", Call: Call{"values", `{"int":9007199254740991,"float":-1.5e-7}`},
			Output: `{"text":"","int":9007199254740991,"float":-0.00000015,"flag":false,"list":[],"map":{},"maybe":null,"inner":{"depth":0}}`},
		{Name: "values of large numbers", Call: Call{"values", `{"float":1.7976931348623157e308,"list":[2147483647,-2147483648]}`},
			Output: `{"text":"","int":0,"float":1.7976931348623157e308,"flag":false,"list":[2147483647,-2147483648],"map":{},"maybe":null,"inner":{"depth":0}}`},
		{Name: "values of 1 MB", Call: Call{"values", `{"text":"` + Long(1<<20) + `"}`}, Output: strings.Replace(nothing, `"text":""`, `"text":"`+Long(1<<20)+`"`, 1)},
		{Name: "values of a wrong type", Call: Call{"values", `{"text":7}`}, Kind: "invalid", Message: "...text"},
		{Name: "values with a wrong number", Call: Call{"values", `{"int":"7"}`}, Kind: "invalid", Message: "...int"},
		{Name: "values with a fraction", Call: Call{"values", `{"int":1.5}`}, Kind: "invalid", Message: "...int"},
		{Name: "values with a wrong list", Call: Call{"values", `{"list":{}}`}, Kind: "invalid", Message: "...list"},
		{Name: "values with something wrong in it", Call: Call{"values", `{"inner":{"depth":true}}`}, Kind: "invalid", Message: "...depth"},
		{Name: "values with a wrong flag", Call: Call{"values", `{"flag":"true"}`}, Kind: "invalid", Message: "...flag"},
		{Name: "values that are not objects", Call: Call{"values", `[1]`}, Kind: "invalid"},
		{Name: "values that end early", Call: Call{"values", `{"text":"a`}, Kind: "invalid"},
		{Name: "values that are not JSON", Call: Call{"values", `{text:1}`}, Kind: "invalid"},
		{Name: "values with more behind", Call: Call{"values", `{} {}`}, Kind: "invalid"},
	}
}

// failures are errors that the tool reports: each kind, and a message in any words.
func failures() []Case {
	var all []Case
	for _, kind := range []string{"denied", "not_found", "invalid", "conflict", "limit", "io", "timeout", "failed"} {
		all = append(all, Case{Name: "fail " + kind, Call: Call{"fail", `{"kind":"` + kind + `","message":"it says: ü \"x\" 🚀"}`}, Kind: kind, Message: `it says: ü "x" 🚀`})
	}
	return append(all,
		Case{Name: "a caught error", Call: Call{"caught", `{"path":"{dir}/none"}`}, Grants: []string{"fs.read:{dir}/**"},
			Output: `{"kind":"not_found","message":"read {dir}/none: no such file or directory"}`},
		Case{Name: "a caught refusal", Call: Call{"caught", `{"path":"/etc/passwd"}`}, Output: `{"kind":"denied","message":"read /etc/passwd: denied"}`},
		Case{Name: "nothing to catch", Call: Call{"caught", `{"path":"{dir}/a.txt"}`}, Grants: []string{"fs.read:{dir}/**"}, Output: `{"kind":"","message":""}`},
	)
}
