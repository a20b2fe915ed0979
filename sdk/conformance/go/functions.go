//go:build wasip1

package main

import (
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

type chunk struct {
	Size      int64  `json:"size"`
	Truncated bool   `json:"truncated"`
	Body      string `json:"body"`
}

//go:wasmexport fs_read
func exportFSRead() int32 {
	type input struct {
		path
		Offset int64 `json:"offset"`
		Length int64 `json:"length"`
	}
	return skill.Handle(func(in input) (chunk, error) {
		got, err := skill.ReadFileAt(in.Path, in.Offset, in.Length)
		return chunk{got.Size, got.Truncated, string(got.Data)}, err
	})
}

type size struct {
	Size int64 `json:"size"`
}

//go:wasmexport fs_write
func exportFSWrite() int32 {
	type input struct {
		path
		Append     bool   `json:"append"`
		CreateOnly bool   `json:"create_only"`
		Body       string `json:"body"`
	}
	return skill.Handle(func(in input) (size, error) {
		n, err := skill.WriteFile(in.Path, []byte(in.Body), skill.WriteOptions{Append: in.Append, CreateOnly: in.CreateOnly})
		return size{n}, err
	})
}

//go:wasmexport fs_list
func exportFSList() int32 {
	type input struct {
		path
		Recursive bool `json:"recursive"`
		Limit     int  `json:"limit"`
	}
	return skill.Handle(func(in input) (skill.Listing, error) {
		return skill.ListDir(in.Path, skill.ListOptions{Recursive: in.Recursive, Limit: in.Limit})
	})
}

type described struct {
	Size     int64      `json:"size"`
	Dir      bool       `json:"dir"`
	Modified *time.Time `json:"modified"`
	Exists   bool       `json:"exists"`
}

//go:wasmexport fs_stat
func exportFSStat() int32 {
	return skill.Handle(func(in path) (described, error) {
		info, exists, err := skill.Stat(in.Path)
		return described{info.Size, info.Dir, optional(info.Modified), exists}, err
	})
}

type response struct {
	Status    int                 `json:"status"`
	Headers   map[string][]string `json:"headers"`
	URL       string              `json:"url"`
	Truncated bool                `json:"truncated"`
	Body      string              `json:"body"`
}

//go:wasmexport http_request
func exportHTTPRequest() int32 {
	type input struct {
		Method    string              `json:"method"`
		URL       string              `json:"url"`
		Headers   map[string][]string `json:"headers"`
		TimeoutMS int64               `json:"timeout_ms"`
		MaxBytes  int64               `json:"max_bytes"`
		Body      string              `json:"body"`
	}
	return skill.Handle(func(in input) (response, error) {
		r, err := skill.HTTP(skill.Request{
			Method: in.Method, URL: in.URL, Headers: in.Headers, Body: []byte(in.Body),
			Timeout: time.Duration(in.TimeoutMS) * time.Millisecond, MaxBytes: in.MaxBytes,
		})
		return response{r.Status, r.Headers, r.URL, r.Truncated, string(r.Body)}, err
	})
}

type key struct {
	Key string `json:"key"`
}

//go:wasmexport kv_get
func exportKVGet() int32 {
	type output struct {
		Found    bool   `json:"found"`
		Revision uint64 `json:"revision"`
		Body     string `json:"body"`
	}
	return skill.Handle(func(in key) (output, error) {
		v, err := skill.KVGet(in.Key)
		return output{v.Found, v.Revision, string(v.Data)}, err
	})
}

type revision struct {
	Revision uint64 `json:"revision"`
}

//go:wasmexport kv_put
func exportKVPut() int32 {
	type input struct {
		key
		TTLSeconds int64   `json:"ttl_seconds"`
		Revision   *uint64 `json:"revision"`
		Body       string  `json:"body"`
	}
	return skill.Handle(func(in input) (revision, error) {
		r, err := skill.KVPut(in.Key, []byte(in.Body), skill.PutOptions{TTL: time.Duration(in.TTLSeconds) * time.Second, Revision: in.Revision})
		return revision{r}, err
	})
}

type deleted struct {
	Deleted bool `json:"deleted"`
}

//go:wasmexport kv_delete
func exportKVDelete() int32 {
	return skill.Handle(func(in key) (deleted, error) {
		d, err := skill.KVDelete(in.Key)
		return deleted{d}, err
	})
}

type keys struct {
	Keys []string `json:"keys"`
}

//go:wasmexport kv_list
func exportKVList() int32 {
	type input struct {
		Prefix string `json:"prefix"`
		Limit  int    `json:"limit"`
	}
	return skill.Handle(func(in input) (keys, error) {
		k, err := skill.KVList(in.Prefix, in.Limit)
		return keys{k}, err
	})
}

type exists struct {
	Exists bool `json:"exists"`
}

//go:wasmexport secret_exists
func exportSecretExists() int32 {
	type input struct {
		Name string `json:"name"`
	}
	return skill.Handle(func(in input) (exists, error) {
		e, err := skill.SecretExists(in.Name)
		return exists{e}, err
	})
}

type nothing struct{}

//go:wasmexport log
func exportLog() int32 {
	type input struct {
		Level   skill.Level       `json:"level"`
		Fields  map[string]string `json:"fields"`
		Message string            `json:"message"`
	}
	return skill.Handle(func(in input) (nothing, error) {
		var fields []skill.Field
		for k, v := range in.Fields {
			fields = append(fields, skill.Field{Key: k, Value: v})
		}
		return nothing{}, skill.Log(in.Level, in.Message, fields...)
	})
}

//go:wasmexport notify
func exportNotify() int32 {
	type input struct {
		Severity skill.Severity `json:"severity"`
		Title    string         `json:"title"`
		Text     string         `json:"text"`
	}
	return skill.Handle(func(in input) (nothing, error) { return nothing{}, skill.Notify(skill.Notification(in)) })
}

type body struct {
	Body string `json:"body"`
}

//go:wasmexport skill_call
func exportSkillCall() int32 {
	type input struct {
		Skill   string `json:"skill"`
		Tool    string `json:"tool"`
		Session string `json:"session"`
		Body    string `json:"body"`
	}
	return skill.Handle(func(in input) (body, error) {
		out, err := skill.SkillCall(skill.Tool{Skill: in.Skill, Name: in.Tool, Session: in.Session}, []byte(in.Body))
		return body{string(out)}, err
	})
}

//go:wasmexport model_call
func exportModelCall() int32 {
	type input struct {
		Model       string       `json:"model"`
		System      string       `json:"system"`
		MaxTokens   int          `json:"max_tokens"`
		Temperature *float64     `json:"temperature"`
		Format      skill.Format `json:"format"`
		Prompt      string       `json:"prompt"`
	}
	type output struct {
		Model        string `json:"model"`
		FinishReason string `json:"finish_reason"`
		InputTokens  int    `json:"input_tokens"`
		OutputTokens int    `json:"output_tokens"`
		Body         string `json:"body"`
	}
	return skill.Handle(func(in input) (output, error) {
		a, err := skill.ModelCall(skill.Prompt{
			Model: in.Model, System: in.System, Text: in.Prompt, MaxTokens: in.MaxTokens, Temperature: in.Temperature, Format: in.Format,
		})
		return output{a.Model, a.FinishReason, a.InputTokens, a.OutputTokens, a.Text}, err
	})
}
