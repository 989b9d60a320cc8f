package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal while the child's process group has it, so that the child may read what is typed
// and gets Ctrl-C itself. The zero value is "no terminal".
type terminal struct {
	owned bool
	fd    int
}

// takeTerminal has the child's group put into the foreground if standard input is a terminal of which we are the
// foreground group now.
func takeTerminal(attr *syscall.SysProcAttr) terminal {
	fd := int(os.Stdin.Fd())
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return terminal{}
	}
	attr.Foreground, attr.Ctty = true, fd
	return terminal{owned: true, fd: fd}
}

// giveBack makes our own group the foreground one again.
func (t terminal) giveBack() {
	if !t.owned {
		return
	}
	signal.Ignore(syscall.SIGTTOU) // a background group that sets the foreground one is stopped otherwise
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp())
}
