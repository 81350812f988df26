"""A model served by `reenact engine serve`, for the tests beside this file."""
import atexit
import pathlib
import signal
import subprocess
import time


class ServedModel:
    """Runs until stop(), on a port of its own choice."""

    def __init__(self, reenact, make_model, scratch, name, kind=(), flags=(), folder=None):
        """Of a model that `make_model` makes, or of the one in `folder`."""
        if folder is None:
            folder = scratch / name
            subprocess.run([make_model, folder, *kind], check=True)
        port_file = scratch / f"{name}.port"
        port_file.unlink(missing_ok=True)
        self.log = scratch / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([reenact, "engine", "serve", "--model", folder, "--port-file", port_file,
                                             *flags], stdout=log, stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)  # No server outlives a test that failed.
        deadline = time.monotonic() + 30
        while not (port_file.exists() and port_file.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise SystemExit(f"the server of {name} did not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        self.port = int(port_file.read_text())
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def stop(self, with_signal=signal.SIGTERM):
        """Returns the exit code and all that the server said."""
        self.process.send_signal(with_signal)
        code = self.process.wait(30)
        return code, pathlib.Path(self.log).read_text()
