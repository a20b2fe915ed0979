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
	got, data, err := kvGetRequest{Key: key}.send()
	if err != nil || !got.Found {
		return Value{}, err
	}
	return Value{Data: data, Revision: got.Revision, Found: true}, nil
}

// KVPut stores data under key and returns the new revision. It needs the grant
// kv. Errors have kind Denied, Conflict (another revision), Invalid, Limit (the
// quota) or IO.
func KVPut(key string, data []byte, o PutOptions) (revision uint64, err error) {
	got, err := kvPutRequest{Key: key, TTLSeconds: whole(o.TTL, time.Second), Revision: o.Revision}.send(data)
	return got.Revision, err
}

// KVDelete removes key and says whether it had a value. It needs the grant kv.
func KVDelete(key string) (deleted bool, err error) {
	got, err := kvDeleteRequest{Key: key}.send()
	return got.Deleted, err
}

// KVList returns the keys that start with prefix, up to limit; 0 means the
// host's limit. It needs the grant kv.
func KVList(prefix string, limit int) ([]string, error) {
	got, err := kvListRequest{Prefix: prefix, Limit: int64(limit)}.send()
	return got.Keys, err
}
