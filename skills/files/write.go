package main

import skill "github.com/skillet-run/skillet/sdk/go"

type writeTextInput struct {
	Path string `json:"path"`
	Text string `json:"text"`
	Mode string `json:"mode"`
}

type writeTextOutput struct {
	Size         int64 `json:"size"`
	BytesWritten int   `json:"bytes_written"`
}

// writeText writes a text to a file.
func writeText(in writeTextInput) (writeTextOutput, error) {
	if in.Path == "" {
		return writeTextOutput{}, skill.Errorf(skill.Invalid, "path: must not be empty")
	}
	options, err := writeMode(in.Mode)
	if err != nil {
		return writeTextOutput{}, err
	}
	size, err := skill.WriteFile(in.Path, []byte(in.Text), options)
	if err != nil {
		return writeTextOutput{}, err
	}
	return writeTextOutput{Size: size, BytesWritten: len(in.Text)}, nil
}

func writeMode(option string) (skill.WriteOptions, error) {
	modes := map[string]skill.WriteOptions{
		"": {}, "overwrite": {}, "create": {CreateOnly: true}, "append": {Append: true},
	}
	m, ok := modes[option]
	if !ok {
		return m, skill.Errorf(skill.Invalid, "mode: must be overwrite, create or append, not %q", option)
	}
	return m, nil
}
