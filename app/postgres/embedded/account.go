//go:build linux

package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is whom PostgreSQL's programs run as; they refuse to run as root.
type account struct {
	uid, gid int

	// drop changes to uid and gid. It needs root.
	drop bool

	// namespace keeps the files root's and runs the programs in a user namespace where root is called 1000 and
	// has no more rights than an ordinary user.
	namespace bool
}

// accountNames are tried in this order. The first is what our packages make, the second PostgreSQL's own.
var accountNames = []string{"switchboard", "postgres", "nobody"}

// chooseAccount decides who runs the cluster of the folder dir. The owner of a cluster that exists decides, because
// PostgreSQL accepts no other. A new one is made by this user, or for root by the first account that can
// enter the folder: a service account, an owner of one of the folders above, else root in a user namespace.
func chooseAccount(dir, data, shown string) (account, error) {
	self := account{uid: os.Geteuid(), gid: os.Getegid()}
	info, err := os.Stat(filepath.Join(data, "PG_VERSION")) // a folder alone may be anybody's preparation
	switch {
	case err == nil:
		st := info.Sys().(*syscall.Stat_t)
		owner := account{uid: int(st.Uid), gid: int(st.Gid)}
		if self.uid != 0 {
			if owner.uid != self.uid {
				return account{}, errNotOurs(shown)
			}
			return self, nil
		}
		owner.drop, owner.namespace = owner.uid != 0, owner.uid == 0
		return owner, nil
	case errors.Is(err, fs.ErrPermission):
		return account{}, errNotOurs(shown)
	case !errors.Is(err, fs.ErrNotExist):
		return account{}, fmt.Errorf("data folder %s cannot be read: %w", shown, err)
	case self.uid != 0:
		return self, nil
	}
	for _, candidate := range append(serviceAccounts(), ownersAbove(dir)...) {
		if reachable(dir, candidate) {
			candidate.drop = true
			return candidate, nil
		}
	}
	self.namespace = true
	return self, nil
}

func serviceAccounts() []account {
	var found []account
	for _, name := range accountNames {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil && uid != 0 {
			found = append(found, account{uid: uid, gid: gid})
		}
	}
	return found
}

// ownersAbove are the users whose private folders lie on the way to dir, as under sudo in somebody's home.
func ownersAbove(dir string) []account {
	var found []account
	for ; dir != "/"; dir = filepath.Dir(dir) {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) == nil && st.Uid != 0 {
			found = append(found, account{uid: int(st.Uid), gid: int(st.Gid)})
		}
	}
	return found
}

// reachable says whether the account may pass through every folder down to dir.
func reachable(dir string, a account) bool {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) != nil {
			return false
		}
		pass := st.Mode&0o001 != 0
		switch { // the kernel looks at the first class that matches only
		case int(st.Uid) == a.uid:
			pass = st.Mode&0o100 != 0
		case int(st.Gid) == a.gid:
			pass = st.Mode&0o010 != 0
		}
		if !pass {
			return false
		}
	}
	return true
}

// makeDir makes a folder that only the account can enter. One that exists must be the account's or ours already: in
// /tmp anybody may have made it first, to look at what passes through it.
func (a account) makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || (owner != a.uid && owner != os.Geteuid()) {
		return errors.New("it exists and others can use it; remove it")
	}
	return a.give(path)
}

// give makes the account the owner of a file or folder that this process made.
func (a account) give(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// attributes are those of a child that runs as the account, in a process group of its own so that Ctrl-C at a
// terminal reaches only us, and that gets SIGINT (for postgres: stop now, cleanly) when its parent thread ends.
// Go asks for that signal after it changed the credentials and before exec, so neither clears it.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	if a.namespace {
		const inside = 1000 // any number but 0
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: a.uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside, HostID: a.gid, Size: 1}}
	}
	return attr
}
