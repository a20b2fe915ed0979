package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"

	"github.com/skillet-run/skillet/host/task"
)

// fixed are settings that must not change in the life of a home.
var fixed = []string{"secret_key", "store_key_file"}

// MaxFile bounds a configuration file that is edited, in bytes.
const MaxFile = 64 << 10

// Edit sets one setting in the text of a configuration file, and leaves the
// other lines as they are. It returns the new text, and the value that the file
// had, as text; empty for none. Nothing but that setting is different in what the
// new text means, and it is valid. Errors are [task.Error]s of [task.KindUsage].
func Edit(file []byte, key, value string) (after []byte, old string, err error) {
	i := slices.IndexFunc(fields(), func(f reflect.StructField) bool { return f.Tag.Get("koanf") == key })
	switch {
	case i < 0:
		return nil, "", unknown(task.KindUsage, key, "setting %s does not exist", key)
	case fields()[i].Type.Kind() == reflect.Slice:
		return nil, "", task.Errorf(task.KindUsage, "setting %s is a list", key).WithHint("edit %s by hand", FileName)
	case slices.Contains(fixed, key):
		return nil, "", task.Errorf(task.KindUsage, "setting %s cannot be changed any more", key).
			WithHint("it is set before the first use of a home: make a new home, and install there what you need")
	}
	before, err := members(file)
	if err != nil {
		return nil, "", err
	}
	if was, ok := before[key]; ok {
		old = fmt.Sprint(was)
	}
	after = replaced(file, key, written(fields()[i].Type.Kind(), value))
	return after, old, onlyChanged(before, after, key, value)
}

// members are the settings of a file, as its text says.
func members(file []byte) (map[string]any, error) {
	m, err := yaml.Parser().Unmarshal(file)
	if err != nil {
		return nil, task.Errorf(task.KindUsage, "read %s: %w", FileName, err).WithHint("mend it by hand first")
	}
	return m, nil
}

// written is a value as it stands in the file.
func written(k reflect.Kind, value string) string {
	if k != reflect.String {
		return value
	}
	b, err := json.Marshal(value) // a JSON string is a YAML one
	if err != nil {
		return value
	}
	return string(b)
}

// replaced is a file with another line for a setting, or one more.
func replaced(file []byte, key, value string) []byte {
	line := key + ": " + value + "\n"
	var b bytes.Buffer
	done := false
	for l := range strings.Lines(string(file)) {
		rest, ok := strings.CutPrefix(l, key)
		if ok && !done && strings.HasPrefix(strings.TrimLeft(rest, " \t"), ":") {
			b.WriteString(line)
			done = true
			continue
		}
		b.WriteString(l)
	}
	if !done {
		if n := b.Len(); n > 0 && b.Bytes()[n-1] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.Bytes()
}

// onlyChanged makes sure that a text is valid, and different in one setting.
func onlyChanged(before map[string]any, after []byte, key, value string) error {
	if len(after) > MaxFile {
		return task.Errorf(task.KindUsage, "%s would be larger than %d KB", FileName, MaxFile>>10).WithHint("edit it by hand")
	}
	if _, err := Parse(FileName, after, nil); err != nil {
		e := task.AsError(err)
		return task.Errorf(task.KindUsage, "set %s to %q: %w", key, value, err).WithHint("%s", e.Hint)
	}
	now, err := members(after)
	if err != nil {
		return err
	}
	_, there := now[key]
	delete(now, key)
	rest := map[string]any{}
	for k, v := range before {
		if k != key {
			rest[k] = v
		}
	}
	if !there || !reflect.DeepEqual(now, rest) && len(now)+len(rest) > 0 {
		return task.Errorf(task.KindUsage, "%s is written in a way in which %s cannot be changed alone", FileName, key).
			WithHint("edit it by hand")
	}
	return nil
}
