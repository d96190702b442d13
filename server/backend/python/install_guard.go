package python

// The descriptors of the guard.
const (
	guardAlive = 3 // a pipe that ends when the server does
	guardLock  = 4 // the lock of the folder that is being filled
)

// installGuard is a Python program that runs its interpreter again with its arguments. When the pipe
// ends it kills its process group: an installation, with the compilers that it runs, does not
// outlive the server. The interpreter inherits the lock, so another server waits until it has
// ended too.
const installGuard = `import os, signal, subprocess, sys, threading
def watch():
    os.read(3, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
sys.exit(subprocess.call([sys.executable] + sys.argv[1:], pass_fds=[4]))`
