package localstack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Images of the container way.
const (
	postgresImage = "postgres:17"
	redisImage    = "redis:7"
)

// dockerTimeout bounds pulling an image and starting it.
const dockerTimeout = 10 * time.Minute

// container is a running Docker container of ours. This way is not exercised by the tests of this repository: where
// they run, no engine answers.
type container struct {
	id   string
	addr string // 127.0.0.1:port on this machine
}

// dockerAnswers tells whether a Docker engine is reachable.
func dockerAnswers(ctx context.Context, f *finder) bool {
	docker := f.command("docker")
	if docker == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reuseTimeout)
	defer cancel()
	return exec.CommandContext(ctx, docker, "info", "--format", "{{.ServerVersion}}").Run() == nil
}

// runContainer starts image with its port published on a free loopback port. The id is noted in h, so that the container
// goes when its owner does.
func runContainer(ctx context.Context, f *finder, h *home, name, image, port string, env, args []string) (*container, error) {
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	docker := f.command("docker")
	run := []string{"run", "--detach", "--rm", "--label", "mappy-localstack=" + h.dir, "--publish", "127.0.0.1::" + port}
	for _, e := range env {
		run = append(run, "--env", e)
	}
	id, err := output(ctx, docker, append(append(run, image), args...)...)
	if err != nil {
		return nil, fmt.Errorf("start container %s: %w", image, err)
	}
	c := &container{id: id}
	if err := h.note(name+".container", id); err != nil {
		c.remove(ctx, f)
		return nil, err
	}
	addr, err := output(ctx, docker, "port", id, port+"/tcp")
	if err != nil {
		c.remove(ctx, f)
		return nil, fmt.Errorf("find the port of container %s: %w", image, err)
	}
	c.addr, _, _ = strings.Cut(addr, "\n")
	return c, nil
}

// remove works although ctx may have ended: that is when it is needed.
func (c *container) remove(ctx context.Context, f *finder) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	_ = exec.CommandContext(ctx, f.command("docker"), "rm", "--force", "--volumes", c.id).Run()
}

// awaitContainer asks until ask returns nil or startTimeout is over. The engine is not asked: a container that is gone is
// waited for to the end.
func awaitContainer(ctx context.Context, ask func() error) error {
	never := &process{done: make(chan struct{})}
	return await(ctx, never, ask)
}

// output runs a command and returns its standard output, trimmed; its standard error becomes part of the error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(exit.Stderr)), " "))
	}
	return strings.TrimSpace(string(out)), err
}
