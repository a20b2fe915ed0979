package author

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/base/fault"
)

// homeOfProject makes the home of dev in a project, or finds the one that dev made
// there. What came with a project is neither used nor written to: a link leads
// somewhere else, and a home has grants and settings of whoever made it. So dev
// remembers in the person's own home where it made one.
func homeOfProject(dir string, ownHome func() (string, error)) (home string, err error) {
	defer func() {
		if err != nil && fault.AsError(err).Way().IsZero() {
			err = fmt.Errorf("make %s: %w", filepath.Join(dir, DevDir), err)
		}
	}()
	own, err := ownHome()
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	home = filepath.Join(dir, DevDir, "home")
	known := filepath.Join(own, "cache", "dev", hashed(home))
	there, err := isPlainDir(root, DevDir)
	if err == nil && there {
		there, err = isPlainDir(root, DevDir+"/home")
	}
	if _, gone := os.Stat(known); err == nil && there && gone != nil {
		err = errNotMade
	}
	if errors.Is(err, errNotMade) {
		return "", fault.Errorf(fault.KindVerification, "%s %w", filepath.Join(dir, DevDir), errNotMade).
			WithHint("it came with the project, or the project was moved: remove it, or name a home with %s", fault.SetField(fault.FieldHome))
	}
	if err != nil || there {
		return home, err
	}
	return home, makeHomeOfProject(root, known)
}

var errNotMade = errors.New("was not made here by dev")

// isPlainDir reports whether there is a directory; what is a link, or anything else,
// dev has not made.
func isPlainDir(root *os.Root, name string) (bool, error) {
	st, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !st.IsDir():
		return false, errNotMade
	}
	return err == nil, err
}

func makeHomeOfProject(root *os.Root, known string) error {
	if err := root.MkdirAll(DevDir+"/home", 0o700); err != nil {
		return err
	}
	ignore := DevDir + "/.gitignore"
	if err := root.Remove(ignore); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(ignore, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(known), 0o700); err != nil {
		return err
	}
	return os.WriteFile(known, nil, 0o600)
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
