package limit

import (
	"fmt"
	"strconv"
	"time"
)

// A kind is how amounts of a limit are written.
type kind int

const (
	number kind = iota // 200,000,000,000
	size               // 64 MB, 1500 KB, 100 bytes
	span               // 30s, 1m30s
)

// Text is a value as people read it: "64 MB", "1m30s", "200,000,000,000".
func (l Limit) Text(value int64) string {
	switch rows[l].kind {
	case size:
		return sizeText(value)
	case span:
		return time.Duration(value).String()
	}
	return grouped(value)
}

// Brief is a phrase for a value: "64 MB memory".
func (l Limit) Brief(value int64) string { return fmt.Sprintf(rows[l].brief, l.Text(value)) }

// sizeText writes bytes in MB or KB where that is exact.
func sizeText(n int64) string {
	switch {
	case n >= mib && n%mib == 0:
		return strconv.FormatInt(n/mib, 10) + " MB"
	case n >= kib && n%kib == 0:
		return strconv.FormatInt(n/kib, 10) + " KB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// grouped writes a large number so that its size is seen: 200,000,000,000.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
