package sandbox

import (
	"strconv"

	"github.com/skillet-run/skillet/host/jail"
)

// refuseFile remembers the first quota of files that stood in the way, for the
// error of the call.
func (in *instance) refuseFile(q *jail.QuotaError) {
	if in.refused == nil {
		in.refused = &LimitError{What: q.What, Limit: fileLimit(q), Setting: fileSetting(q), kind: ErrFiles}
	}
}

func fileLimit(q *jail.QuotaError) string {
	if q.What == "file size" || q.What == "bytes written" {
		return byteCount(q.Limit)
	}
	return strconv.FormatInt(q.Limit, 10)
}

func fileSetting(q *jail.QuotaError) string {
	if q.What == "file size" {
		return "security.resource_limits.max_file_size_mb"
	}
	return ""
}
