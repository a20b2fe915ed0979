package skill

import "time"

// Value is an entry of the skill's own key-value state.
type Value struct {
	// Data is the stored content.
	Data []byte
	// Revision grows with every change of the key; 0 when not Found.
	Revision uint64
	// Found is false when the key has no value.
	Found bool
}

// PutOptions bounds a KVPut. The zero value stores without conditions, for good.
type PutOptions struct {
	// TTL is how long the value lives; 0 means until it is deleted. It is
	// rounded up to seconds.
	TTL time.Duration
	// Revision, when set, stores only if the key still has this revision; a
	// pointer to 0 stores only if the key has no value.
	Revision *uint64
}

// KVGet returns the value of key, with Found false when there is none. It needs
// the grant kv.
func KVGet(key string) (Value, error) {
	ask := struct {
		Key string `json:"key"`
	}{key}
	var got struct {
		Found    bool   `json:"found"`
		Revision uint64 `json:"revision"`
	}
	data, err := request(kvGet, "get key "+key, ask, &got, nil)
	if err != nil || !got.Found {
		return Value{}, err
	}
	return Value{Data: data, Revision: got.Revision, Found: true}, nil
}

// KVPut stores data under key and returns the new revision. It needs the grant
// kv. Errors have kind Denied, Conflict (another revision), Invalid, Limit (the
// quota) or IO.
func KVPut(key string, data []byte, o PutOptions) (revision uint64, err error) {
	ask := struct {
		Key        string  `json:"key"`
		TTLSeconds int64   `json:"ttl_seconds,omitempty"`
		Revision   *uint64 `json:"revision,omitempty"`
	}{key, int64((o.TTL + time.Second - 1) / time.Second), o.Revision}
	var got struct {
		Revision uint64 `json:"revision"`
	}
	_, err = request(kvPut, "put key "+key, ask, &got, data)
	return got.Revision, err
}

// KVDelete removes key and says whether it had a value. It needs the grant kv.
func KVDelete(key string) (deleted bool, err error) {
	ask := struct {
		Key string `json:"key"`
	}{key}
	var got struct {
		Deleted bool `json:"deleted"`
	}
	_, err = request(kvDelete, "delete key "+key, ask, &got, nil)
	return got.Deleted, err
}

// KVList returns the keys that start with prefix, up to limit; 0 means the
// host's limit. It needs the grant kv.
func KVList(prefix string, limit int) ([]string, error) {
	ask := struct {
		Prefix string `json:"prefix"`
		Limit  int    `json:"limit,omitempty"`
	}{prefix, limit}
	var got struct {
		Keys []string `json:"keys"`
	}
	_, err := request(kvList, "list keys "+prefix, ask, &got, nil)
	return got.Keys, err
}
