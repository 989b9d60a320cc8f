//go:build !linux

package localstack

import "syscall"

// setDeathSignal does nothing here: the watching shell of watch.go is what stops the servers on these systems.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
