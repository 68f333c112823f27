// Package embedded runs a private PostgreSQL server for one data folder, from the programs that the system's
// package manager installed. The server is a child of this process, listens on a unix socket only, and ends
// with this process however that ends. It works as root and as any other user, on Linux.
package embedded

import (
	"fmt"

	"go.uber.org/zap"
)

// Database is the database that Start creates for the product.
const Database = "switchboard"

// role is the database role that owns everything. Whoever can enter the socket folder, which only the account
// that runs the server can, is this role.
const role = "switchboard"

// MinimumMajor is the oldest PostgreSQL whose features the migrations and statements may use.
const MinimumMajor = 15

// Options says where a server lives and how it runs.
type Options struct {
	// Dir is the folder that holds everything of the server: the cluster in data, the socket in sock,
	// postgres.log and owner.lock. It is created when it does not exist.
	Dir string

	// Logger receives starts, restarts and what was left behind by an earlier process. Nil logs nothing.
	Logger *zap.Logger

	// FastTests gives up durability for speed: a crash of the machine loses the data folder.
	FastTests bool
}

// CheckMajor refuses a PostgreSQL that is older than MinimumMajor.
func CheckMajor(major int) error {
	if major < MinimumMajor {
		return fmt.Errorf("PostgreSQL %d is too old: Switchboard needs PostgreSQL %d or newer", major, MinimumMajor)
	}
	return nil
}

// InUseError says that another process owns the data folder.
type InUseError struct {
	Dir string // as the owner was configured
	PID int    // 0 when the holder could not be told, for example because it lives in another container
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data folder %s is in use by %s; stop it or set SWITCHBOARD_DATA_DIR to another folder", e.Dir, holder)
}
