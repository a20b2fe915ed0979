package conformance

import "fmt"

// quoted is a JSON string of n bytes.
func quoted(n int) string { return `"` + Long(n) + `"` }

// files are about fs_read, fs_write, fs_list, fs_stat, and reading a file of any length. The directory has a.txt
// ("alpha"), empty, big (5 MiB), ünï 🚀.txt ("grüße"), sub/b.txt ("b") and out, a link that leads out of it.
func files() []Case {
	read, write := []string{"fs.read:{dir}/**"}, []string{"fs.write:{dir}/**"}
	both := append(append([]string{}, read...), write...)
	return []Case{
		{Name: "fs_read", Call: Call{"fs_read", `{"path":"{dir}/a.txt"}`}, Grants: read, Output: `{"size":5,"truncated":false,"body":"alpha"}`},
		{Name: "fs_read a part", Call: Call{"fs_read", `{"path":"{dir}/a.txt","offset":1,"length":3}`}, Grants: read, Output: `{"size":5,"truncated":true,"body":"lph"}`},
		{Name: "fs_read behind the end", Call: Call{"fs_read", `{"path":"{dir}/a.txt","offset":1099511627776}`}, Grants: read, Output: `{"size":5,"truncated":false,"body":""}`},
		{Name: "fs_read nothing", Call: Call{"fs_read", `{"path":"{dir}/empty"}`}, Grants: read, Output: `{"size":0,"truncated":false,"body":""}`},
		{Name: "fs_read unicode", Call: Call{"fs_read", `{"path":"{dir}/ünï 🚀.txt"}`}, Grants: read, Output: `{"size":7,"truncated":false,"body":"grüße"}`},
		{Name: "fs_read denied", Call: Call{"fs_read", `{"path":"{dir}/a.txt"}`}, Kind: "denied", Message: "read {dir}/a.txt: denied"},
		{Name: "fs_read denied by a link", Call: Call{"fs_read", `{"path":"{dir}/out"}`}, Grants: read, Kind: "denied", Message: "read {dir}/out: denied"},
		{Name: "fs_read not_found", Call: Call{"fs_read", `{"path":"{dir}/none"}`}, Grants: read, Kind: "not_found", Message: "read {dir}/none: no such file or directory"},
		{Name: "fs_read invalid", Call: Call{"fs_read", `{"path":"{dir}/sub"}`}, Grants: read, Kind: "invalid", Message: "read {dir}/sub: is a directory"},
		{Name: "fs_read limit", Call: Call{"fs_read", `{"path":` + quoted(300_000) + `}`}, Grants: read, Kind: "limit"},
		{Name: "read_file", Call: Call{"read_file", `{"path":"{dir}/big"}`}, Grants: read, Output: `{"bytes":5242880,"sum":367656960}`},
		{Name: "read_file nothing", Call: Call{"read_file", `{"path":"{dir}/empty"}`}, Grants: read, Output: `{"bytes":0,"sum":0}`},
		{Name: "read_file not_found", Call: Call{"read_file", `{"path":"{dir}/none"}`}, Grants: read, Kind: "not_found", Message: "read {dir}/none: no such file or directory"},

		{Name: "fs_write", Call: Call{"fs_write", `{"path":"{dir}/made","body":"new ü"}`}, Grants: write, Output: `{"size":6}`, Left: Left{Files: map[string]string{"made": "new ü"}}},
		{Name: "fs_write nothing", Call: Call{"fs_write", `{"path":"{dir}/a.txt","body":""}`}, Grants: write, Output: `{"size":0}`, Left: Left{Files: map[string]string{"a.txt": ""}}},
		{Name: "fs_write behind", Call: Call{"fs_write", `{"path":"{dir}/a.txt","body":"+","append":true}`}, Grants: write, Output: `{"size":6}`, Left: Left{Files: map[string]string{"a.txt": "alpha+"}}},
		{Name: "fs_write 1 MB", Call: Call{"fs_write", `{"path":"{dir}/made","body":` + quoted(1<<20) + `}`}, Grants: write, Output: `{"size":1048576}`, Left: Left{Files: map[string]string{"made": Long(1 << 20)}}},
		{Name: "fs_write denied", Call: Call{"fs_write", `{"path":"{dir}/made","body":"x"}`}, Grants: read, Kind: "denied", Message: "write {dir}/made: denied"},
		{Name: "fs_write not_found", Call: Call{"fs_write", `{"path":"{dir}/none/x","body":"x"}`}, Grants: write, Kind: "not_found"},
		{Name: "fs_write invalid", Call: Call{"fs_write", `{"path":"{dir}/x","append":true,"create_only":true,"body":""}`}, Grants: write, Kind: "invalid"},
		{Name: "fs_write conflict", Call: Call{"fs_write", `{"path":"{dir}/a.txt","create_only":true,"body":"x"}`}, Grants: write, Kind: "conflict", Message: "write {dir}/a.txt: exists already", Left: Left{Files: map[string]string{"a.txt": "alpha"}}},
		{Name: "fs_write limit", Call: Call{"fs_write", `{"path":"{dir}/made","body":"12345678901"}`}, Grants: write, World: World{FileBytes: 10}, Kind: "limit"},
		{Name: "fs_write and read", Before: []Call{{"fs_write", `{"path":"{dir}/made","body":"one"}`}}, Call: Call{"fs_read", `{"path":"{dir}/made"}`}, Grants: both, Output: `{"size":3,"truncated":false,"body":"one"}`},

		{Name: "fs_list", Call: Call{"fs_list", `{"path":"{dir}/sub"}`}, Grants: read,
			Output: `{"entries":[{"name":"b.txt","path":"{dir}/sub/b.txt","size":1,"dir":false,"modified":"2026-01-02T03:04:05Z"}],"truncated":false}`},
		{Name: "fs_list all", Call: Call{"fs_list", `{"path":"{dir}","recursive":true,"limit":100}`}, Grants: read,
			Output: `{"entries":["*","*","*","*","*",{"...":0,"name":"b.txt","path":"{dir}/sub/b.txt"},{"...":0,"name":"ünï 🚀.txt","size":7}],"truncated":false}`},
		{Name: "fs_list a few", Call: Call{"fs_list", `{"path":"{dir}","limit":1}`}, Grants: read, Output: `{"entries":[{"...":0,"name":"a.txt","size":5,"dir":false}],"truncated":true}`},
		{Name: "fs_list denied", Call: Call{"fs_list", `{"path":"{dir}"}`}, Kind: "denied", Message: "list {dir}: denied"},
		{Name: "fs_list not_found", Call: Call{"fs_list", `{"path":"{dir}/none"}`}, Grants: read, Kind: "not_found"},
		{Name: "fs_list invalid", Call: Call{"fs_list", `{"path":"{dir}/a.txt"}`}, Grants: read, Kind: "invalid", Message: "list {dir}/a.txt: not a directory"},
		{Name: "fs_list limit", Call: Call{"fs_list", `{"path":"{dir}"}`}, Grants: read, World: World{Entries: 2}, Kind: "limit"},

		{Name: "fs_stat", Call: Call{"fs_stat", `{"path":"{dir}/sub/b.txt"}`}, Grants: read, Output: `{"size":1,"dir":false,"modified":"2026-01-02T03:04:05Z","exists":true}`},
		{Name: "fs_stat a directory", Call: Call{"fs_stat", `{"path":"{dir}/sub"}`}, Grants: read, Output: `{"size":0,"dir":true,"modified":"*","exists":true}`},
		{Name: "fs_stat nothing", Call: Call{"fs_stat", `{"path":"{dir}/none"}`}, Grants: read, Output: `{"size":0,"dir":false,"modified":null,"exists":false}`},
		{Name: "fs_stat denied", Call: Call{"fs_stat", `{"path":"{dir}/a.txt"}`}, Kind: "denied", Message: "stat {dir}/a.txt: denied"},
		{Name: "fs_stat invalid", Call: Call{"fs_stat", `{"path":""}`}, Grants: read, Kind: "invalid", Message: "stat : not a usable path"},
	}
}

// web is about http_request. The server answers what it was asked at /echo, never at /slow, with 404 at /missing,
// with 1 MB at /large, and leads from /moved to /echo.
func web() []Case {
	grants := []string{"http:* {url}/*", "http:* {closed}/*"}
	return []Case{
		{Name: "http_request", Call: Call{"http_request", `{"method":"POST","url":"{url}/echo?q=1","headers":{"X-Probe":["a","b"],"Content-Type":["text/plain"]},"body":"ü body"}`}, Grants: grants,
			Output: `{"status":201,"headers":{"...":0,"X-Echo":["a,b"],"X-Two":["1","2"]},"url":"{url}/echo?q=1","truncated":false,"body":"POST /echo?q=1 ü body"}`},
		{Name: "http_request by default", Call: Call{"http_request", `{"url":"{url}/echo"}`}, Grants: grants, Output: `{"status":201,"headers":"*","url":"{url}/echo","truncated":false,"body":"GET /echo "}`},
		{Name: "http_request that leads on", Call: Call{"http_request", `{"url":"{url}/moved"}`}, Grants: grants, Output: `{"status":201,"headers":"*","url":"{url}/echo","truncated":false,"body":"GET /echo "}`},
		{Name: "http_request of what is not there", Call: Call{"http_request", `{"url":"{url}/missing"}`}, Grants: grants, Output: `{"status":404,"headers":"*","url":"{url}/missing","truncated":false,"body":""}`},
		{Name: "http_request cut", Call: Call{"http_request", `{"url":"{url}/large","max_bytes":4}`}, Grants: grants, Output: `{"status":200,"headers":"*","url":"{url}/large","truncated":true,"body":"0123"}`},
		{Name: "http_request 1 MB", Call: Call{"http_request", `{"url":"{url}/large"}`}, Grants: grants, Output: `{"status":200,"headers":"*","url":"{url}/large","truncated":false,"body":` + quoted(1<<20) + `}`},
		{Name: "http_request denied", Call: Call{"http_request", `{"method":"PUT","url":"{url}/echo"}`}, Grants: []string{"http:GET {url}/*"}, Kind: "denied", Message: "PUT {url}/echo: denied"},
		{Name: "http_request invalid", Call: Call{"http_request", `{"url":"{url}/echo","headers":{"Host":["other"]}}`}, Grants: grants, Kind: "invalid"},
		{Name: "http_request limit", Call: Call{"http_request", `{"method":"POST","url":"{url}/echo","body":"12345678901"}`}, Grants: grants, World: World{HTTPBytes: 10}, Kind: "limit"},
		{Name: "http_request io", Call: Call{"http_request", `{"url":"{closed}/"}`}, Grants: grants, Kind: "io", Message: "GET {closed}/: 127.0.0.1 refuses the connection"},
		{Name: "http_request timeout", Call: Call{"http_request", `{"url":"{url}/slow","timeout_ms":50}`}, Grants: grants, Kind: "timeout", Message: "GET {url}/slow: took too long"},
	}
}

// state is about the kv functions.
func state() []Case {
	kv := []string{"kv"}
	put := func(key, body string) Call { return Call{"kv_put", fmt.Sprintf(`{"key":%q,"body":%q}`, key, body)} }
	return []Case{
		{Name: "kv_get", Before: []Call{put("k", "ü 🚀")}, Call: Call{"kv_get", `{"key":"k"}`}, Grants: kv, Output: `{"found":true,"revision":"*","body":"ü 🚀"}`},
		{Name: "kv_get nothing", Call: Call{"kv_get", `{"key":"k"}`}, Grants: kv, Output: `{"found":false,"revision":0,"body":""}`},
		{Name: "kv_get an empty value", Before: []Call{put("k", "")}, Call: Call{"kv_get", `{"key":"k"}`}, Grants: kv, Output: `{"found":true,"revision":"*","body":""}`},
		{Name: "kv_get denied", Call: Call{"kv_get", `{"key":"k"}`}, Kind: "denied", Message: "get key k: denied"},
		{Name: "kv_get invalid", Call: Call{"kv_get", `{"key":""}`}, Grants: kv, Kind: "invalid"},
		{Name: "kv_get io", Call: Call{"kv_get", `{"key":"k"}`}, Grants: kv, World: World{NoStore: true}, Kind: "io"},
		{Name: "kv_put", Call: Call{"kv_put", `{"key":"k","ttl_seconds":3600,"revision":0,"body":"v"}`}, Grants: kv, Output: `{"revision":"*"}`},
		{Name: "kv_put in any case", Before: []Call{put("k", "v")}, Call: put("k", "w"), Grants: kv, Output: `{"revision":"*"}`},
		{Name: "kv_put denied", Call: put("k", "v"), Kind: "denied", Message: "put key k: denied"},
		{Name: "kv_put invalid", Call: Call{"kv_put", `{"key":"k","ttl_seconds":-1,"body":""}`}, Grants: kv, Kind: "invalid", Message: "put key k: ttl_seconds is from 0 to 315360000"},
		{Name: "kv_put conflict", Before: []Call{put("k", "v")}, Call: Call{"kv_put", `{"key":"k","revision":0,"body":"w"}`}, Grants: kv, Kind: "conflict", Message: "put key k: the key was changed by someone else"},
		{Name: "kv_put conflict with a revision", Before: []Call{put("k", "v")}, Call: Call{"kv_put", `{"key":"k","revision":999999,"body":"w"}`}, Grants: kv, Kind: "conflict"},
		{Name: "kv_put limit", Call: Call{"kv_put", `{"key":"k","body":` + quoted(300_000) + `}`}, Grants: kv, Kind: "limit"},
		{Name: "kv_put io", Call: put("k", "v"), Grants: kv, World: World{NoStore: true}, Kind: "io"},
		{Name: "kv_delete", Before: []Call{put("k", "v")}, Call: Call{"kv_delete", `{"key":"k"}`}, Grants: kv, Output: `{"deleted":true}`},
		{Name: "kv_delete nothing", Call: Call{"kv_delete", `{"key":"k"}`}, Grants: kv, Output: `{"deleted":false}`},
		{Name: "kv_delete denied", Call: Call{"kv_delete", `{"key":"k"}`}, Kind: "denied", Message: "delete key k: denied"},
		{Name: "kv_delete invalid", Call: Call{"kv_delete", `{"key":"a\u0000b"}`}, Grants: kv, Kind: "invalid"},
		{Name: "kv_delete io", Call: Call{"kv_delete", `{"key":"k"}`}, Grants: kv, World: World{NoStore: true}, Kind: "io"},
		{Name: "kv_list", Before: []Call{put("b/2", ""), put("a", ""), put("b/1", ""), put("b/ü", "")}, Call: Call{"kv_list", `{"prefix":"b/"}`}, Grants: kv, Output: `{"keys":["b/1","b/2","b/ü"]}`},
		{Name: "kv_list a few", Before: []Call{put("b", ""), put("a", "")}, Call: Call{"kv_list", `{"limit":1}`}, Grants: kv, Output: `{"keys":["a"]}`},
		{Name: "kv_list nothing", Call: Call{"kv_list", `{}`}, Grants: kv, Output: `{"keys":[]}`},
		{Name: "kv_list denied", Call: Call{"kv_list", `{"prefix":"p"}`}, Kind: "denied", Message: "list keys p: denied"},
		{Name: "kv_list invalid", Call: Call{"kv_list", `{"limit":-1}`}, Grants: kv, Kind: "invalid"},
		{Name: "kv_list io", Call: Call{"kv_list", `{}`}, Grants: kv, World: World{NoStore: true}, Kind: "io"},
	}
}

// messages are about secrets, log and notifications.
func messages() []Case {
	secret, notify := []string{"secret:*"}, []string{"notify"}
	return []Case{
		{Name: "secret_exists", Call: Call{"secret_exists", `{"name":"known"}`}, Grants: secret, Output: `{"exists":true}`},
		{Name: "secret_exists not", Call: Call{"secret_exists", `{"name":"other"}`}, Grants: secret, Output: `{"exists":false}`},
		{Name: "secret_exists denied", Call: Call{"secret_exists", `{"name":"known"}`}, Kind: "denied", Message: "look for secret known: denied"},
		{Name: "secret_exists io", Call: Call{"secret_exists", `{"name":"known"}`}, Grants: secret, World: World{Unreadable: true}, Kind: "io"},

		{Name: "log", Call: Call{"log", `{"level":"warn","message":"a line ü","fields":{"rows":"12","b":"x"}}`}, Output: `{}`, Left: Left{Logs: []string{"warn a line ü b=x rows=12"}}},
		{Name: "log by default", Call: Call{"log", `{"message":"a line"}`}, Output: `{}`, Left: Left{Logs: []string{"info a line"}}},
		{Name: "log of another level", Call: Call{"log", `{"level":"trace","message":"t"}`}, Output: `{}`, Left: Left{Logs: []string{"trace t"}}},
		{Name: "log invalid", Call: Call{"log", `{"level":"loud","message":"m"}`}, Kind: "invalid"},
		{Name: "log limit", Call: Call{"log", `{"level":"info","message":"m","fields":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","10":"","11":"","12":"","13":"","14":"","15":"","16":"","17":""}}`}, Kind: "limit", Message: "log: 17 fields; at most 16"},

		{Name: "notify", Call: Call{"notify", `{"severity":"warning","title":"title ü","text":"line\nline"}`}, Grants: notify, Output: `{}`, Left: Left{Notifications: []string{"warning title ü: line\nline"}}},
		{Name: "notify by default", Call: Call{"notify", `{"title":"title"}`}, Grants: notify, Output: `{}`, Left: Left{Notifications: []string{"info title: "}}},
		{Name: "notify denied", Call: Call{"notify", `{"title":"title"}`}, Kind: "denied", Message: "notify: denied"},
		{Name: "notify invalid", Call: Call{"notify", `{"title":""}`}, Grants: notify, Kind: "invalid", Message: "notify: a title is one line of up to 200 bytes"},
		{Name: "notify limit", Call: Call{"notify", `{"title":"title","text":` + quoted(5000) + `}`}, Grants: notify, Kind: "limit", Message: "notify: text of 5000 bytes; at most 4096"},
		{Name: "notify io", Call: Call{"notify", `{"title":"title"}`}, Grants: notify, World: World{NoNotifier: true}, Kind: "io", Message: "notify: there is nobody to notify here"},
	}
}

// others are about skills and models. The skill echo answers its input; other names answer the error that they are
// called. The model parrot repeats the prompt.
func others() []Case {
	skill, model := []string{"skill:*"}, []string{"model:*"}
	var all []Case
	for _, kind := range []string{"not_found", "conflict", "limit", "timeout", "failed"} {
		name := map[string]string{"not_found": "not-found"}[kind]
		if name == "" {
			name = kind
		}
		all = append(all, Case{Name: "skill_call " + kind, Call: Call{"skill_call", `{"skill":"` + name + `","body":""}`}, Grants: skill, Kind: kind, Message: "call skill " + name + ": as it is called"})
	}
	return append(all, []Case{
		{Name: "skill_call", Call: Call{"skill_call", `{"skill":"echo","tool":"say","body":"ü 🚀"}`}, Grants: skill, Output: `{"body":"ü 🚀"}`, Left: Left{Asked: []string{"echo say  ü 🚀"}}},
		{Name: "skill_call its only tool", Call: Call{"skill_call", `{"skill":"echo","body":""}`}, Grants: skill, Output: `{"body":""}`, Left: Left{Asked: []string{"echo   "}}},
		{Name: "skill_call in a session", Call: Call{"skill_call", `{"skill":"echo","session":"work","body":"x"}`}, Grants: []string{"skill:echo", "session:echo/work"}, Output: `{"body":"x"}`, Left: Left{Asked: []string{"echo  work x"}}},
		{Name: "skill_call 1 MB", Call: Call{"skill_call", `{"skill":"echo","body":` + quoted(1<<20) + `}`}, Grants: skill, Output: `{"body":` + quoted(1<<20) + `}`},
		{Name: "skill_call denied", Call: Call{"skill_call", `{"skill":"echo","body":""}`}, Kind: "denied", Message: "call skill echo: denied"},
		{Name: "skill_call invalid", Call: Call{"skill_call", `{"skill":"No Name","body":""}`}, Grants: skill, Kind: "invalid"},
		{Name: "skill_call without any", Call: Call{"skill_call", `{"skill":"echo","body":""}`}, Grants: skill, World: World{NoSkills: true}, Kind: "failed"},

		{Name: "model_call", Call: Call{"model_call", `{"model":"parrot","system":"be brief","max_tokens":10,"temperature":0,"format":"json","prompt":"{\"a\":\"ü\"}"}`}, Grants: model,
			Output: `{"model":"parrot-1","finish_reason":"stop","input_tokens":3,"output_tokens":4,"body":"{\"a\":\"ü\"}"}`, Left: Left{Asked: []string{`parrot be brief 10 0 json {"a":"ü"}`}}},
		{Name: "model_call by default", Call: Call{"model_call", `{"model":"parrot","prompt":"hello"}`}, Grants: model,
			Output: `{"model":"parrot-1","finish_reason":"stop","input_tokens":3,"output_tokens":4,"body":"hello"}`, Left: Left{Asked: []string{"parrot  0 - text hello"}}},
		{Name: "model_call denied", Call: Call{"model_call", `{"model":"parrot","prompt":""}`}, Kind: "denied", Message: "ask model parrot: denied"},
		{Name: "model_call invalid", Call: Call{"model_call", `{"model":"parrot","max_tokens":-1,"prompt":""}`}, Grants: model, Kind: "invalid", Message: "ask model parrot: max_tokens is from 0 to 1048576"},
		{Name: "model_call limit", Call: Call{"model_call", `{"model":"parrot","prompt":` + quoted(1<<20+1) + `}`}, Grants: model, Kind: "limit"},
		{Name: "model_call failed", Call: Call{"model_call", `{"model":"parrot","prompt":""}`}, Grants: model, World: World{NoModels: true}, Kind: "failed", Message: "ask model parrot: no model provider is configured on this host"},
	}...)
}
