//go:build linux

package embedded

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// arguments are the command line of the server. Settings are here and not in postgresql.conf, so that a data folder
// made by an older version runs with the settings of this one.
func (s *Server) arguments() ([]string, error) {
	name, err := clusterName(s.data)
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be read: %w", s.dir, err)
	}
	settings := []string{
		"cluster_name=" + name,
		"listen_addresses=", // the unix socket is the only way in
		"port=" + port,
		"unix_socket_directories=" + s.sockets,
		"unix_socket_permissions=0700",
		"max_connections=100",
		"shared_buffers=128MB",
		"jit=off", // short statements: compiling them costs more than it saves
		"timezone=UTC",
		"log_timezone=UTC",
		"log_destination=stderr",
		"logging_collector=off",
		// No value of a statement may reach the log. An error's own message can quote one ("invalid input syntax for
		// type json"), so errors go to the client only; terse leaves out DETAIL and CONTEXT of what is logged.
		"log_min_messages=log",
		"log_error_verbosity=terse",
		"log_min_error_statement=panic",
		"log_parameter_max_length=0",
		"log_parameter_max_length_on_error=0",
		"log_statement=none",
		"log_min_duration_statement=-1",
		"log_checkpoints=off",
		"log_line_prefix=%m [%p] ",
	}
	if s.fast {
		settings = append(settings,
			"max_connections=300", // tests in parallel, each with pools of its own
			"fsync=off",
			"full_page_writes=off",
			"synchronous_commit=off",
			"wal_level=minimal",
			"max_wal_senders=0",
			"max_wal_size=1GB", // else small segments make checkpoints frequent
			"autovacuum=off",
		)
	}
	arguments := []string{"-D", s.data}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	return arguments, nil
}

// socketNameMax is how long the path of a unix socket may be: the kernel keeps 108 bytes with the final zero.
const socketNameMax = 107

// makeSocketDir makes the folder of the socket: in dir, or in /tmp when that path is too long for a socket.
func (a account) makeSocketDir(dir string) (string, error) {
	path := filepath.Join(dir, "sock")
	if len(path)+len("/.s.PGSQL."+port) > socketNameMax {
		sum := sha256.Sum256([]byte(dir))
		path = fmt.Sprintf("/tmp/switchboard-%d-%x", a.uid, sum[:8])
	}
	if err := a.makeDir(path); err != nil {
		return "", fmt.Errorf("socket folder %s cannot be made: %w", path, err)
	}
	return path, nil
}

// logMaxBytes is when postgres.log starts anew at the next start; one older file is kept.
const logMaxBytes = 16 << 20

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logMaxBytes {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// loggedComplaint is the last error at the end of the server's log: why it ended.
func loggedComplaint(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	end := make([]byte, min(info.Size(), tailBytes))
	if _, err := file.ReadAt(end, info.Size()-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return complaint(string(end))
}
