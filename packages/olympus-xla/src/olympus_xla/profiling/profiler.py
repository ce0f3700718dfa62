# SPDX-License-Identifier: Apache-2.0
"""Profiles: traces of the program and the devices, and profiles of device memory.

A trace is written as ``plugins/profile/<time>/<host>.xplane.pb``, which TensorBoard, XProf and
`ProfileData` read. It is also written as ``<host>.trace.json.gz``, which Perfetto
(https://ui.perfetto.dev) opens.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import json
import os
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from olympus_ir.diagnostics.encodable import encodable
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.trees.flattening import function_name

from .. import _jaxlib
from ..platforms.backends import backends, get_backend

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "get_profiled_instructions_proto",
    "record",
    "register_subprocess",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]

ProfileData = _jaxlib.ProfileData
ProfileEvent = _jaxlib.ProfileEvent
ProfilePlane = _jaxlib.ProfilePlane

F = TypeVar("F", bound=Callable[..., Any])

_jaxlib.prime_profile_data()


class ProfileOptions(_jaxlib.ProfileOptions):
    """Options of a trace.

    Attributes:
      host_tracer_level: the recorded events of the host: 0 for none, 1 for the user's annotations,
        2 (the default) for expensive operations of the runtime as well, 3 for all operations.
      python_tracer_level: 1 to record Python calls, 0 not to record them.
      enable_hlo_proto: whether to store the compiled programs with the trace.
      advanced_configuration: options of the platform's tracer, by name.
    """


# ---- traces ----


class _State:
    """The recording session of the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.log_dir = ""
        self.perfetto_link = False
        self.perfetto_trace = False


_state = _State()


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Starts to record the activity of the program and the devices.

    Args:
      log_dir: the directory to which `stop_trace` writes.
      create_perfetto_link: whether `stop_trace` prints a link that opens the trace in Perfetto, and
        waits until it has been opened.
      create_perfetto_trace: whether to also write ``perfetto_trace.json.gz``.
      profiler_options: the options of the trace.

    Raises:
      RuntimeError: a trace is already being recorded.

    Example:
      >>> import tempfile
      >>> start_trace(tempfile.mkdtemp()); stop_trace()
    """
    with _state.lock:
        _state.session = _started_session(profiler_options)
        _state.log_dir = os.fspath(log_dir)
        _state.perfetto_link = create_perfetto_link
        _state.perfetto_trace = create_perfetto_trace or create_perfetto_link


def _started_session(options: ProfileOptions | None) -> Any:
    """Starts the only session of the profiler. The caller holds the lock of the state."""
    if _state.session is not None:
        raise RuntimeError(
            "Profile has already been started. Only one profile may be run at a time; stop it with "
            "stop_trace()."
        )
    backends()  # plugins register their tracers when their clients are made
    options = ProfileOptions() if options is None else options
    level = options.python_tracer_level
    if level and (name := _unreadable_file()) is not None:
        warn_user(
            f"Python calls are not recorded: the name of the file {encodable(name)} is not UTF-8, "
            "and XLA's tracer would wait for ever. Rename the file to record them."
        )
        options.python_tracer_level = 0
    try:
        return _jaxlib.ProfilerSession(options)
    finally:
        options.python_tracer_level = level


def _unreadable_file() -> str | None:
    """Returns the file of a loaded module whose name UTF-8 cannot encode; None if there is none."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return next((name for name in files if isinstance(name, str) and encodable(name) != name), None)


def stop_trace() -> None:
    """Ends the recording started by `start_trace`, and writes the trace.

    Raises:
      RuntimeError: no trace is being recorded.

    Example:
      >>> import tempfile
      >>> start_trace(tempfile.mkdtemp())
      >>> stop_trace()
    """
    with _state.lock:
        session = _state.session
        if session is None:
            raise RuntimeError("No profile started: call start_trace(log_dir) before stop_trace().")
        _state.session = None
        session.export(session.stop(), _state.log_dir)
        if _state.perfetto_trace:
            path = write_perfetto_trace(_state.log_dir)
            if _state.perfetto_link:
                serve_to_perfetto(path)


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Context manager that records a trace; see `start_trace` for the arguments.

    Example:
      >>> import tempfile
      >>> with trace(tempfile.mkdtemp()):
      ...     pass
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def record(run: Callable[[], Any], profiler_options: ProfileOptions | None = None) -> ProfileData:
    """Records the activity of the program and the devices while a function runs, in memory.

    Args:
      run: the function.
      profiler_options: the options of the trace.

    Returns:
      The trace.

    Raises:
      RuntimeError: a trace is already being recorded.

    Example:
      >>> len(list(record(lambda: None).planes)) > 0
      True
    """
    with _state.lock:
        session = _started_session(profiler_options)
        try:
            run()
        finally:
            contents = session.stop()
    return ProfileData.from_serialized_xspace(contents)


def _newest_session(log_dir: str) -> Path:
    sessions = Path(log_dir, "plugins", "profile").iterdir()
    return max(sessions, key=lambda path: path.stat().st_mtime)


def write_perfetto_trace(log_dir: str) -> Path:
    """Writes the events of a trace under the file name that Perfetto users expect."""
    session = _newest_session(log_dir)
    (written,) = session.glob("*.trace.json.gz")
    with gzip.open(written, "rb") as file:
        contents = json.load(file)
    path = session / "perfetto_trace.json.gz"
    # Perfetto accepts only events, without the other data that XProf stores.
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"traceEvents": contents["traceEvents"]}, file)
    return path


_PERFETTO = "https://ui.perfetto.dev"
_PERFETTO_PORT = 9001  # the port that Perfetto's page is allowed to read


def serve_to_perfetto(path: Path) -> None:
    """Serves a trace to Perfetto's page in the browser. Returns after the first download."""

    class Server(socketserver.TCPServer):
        """Server that serves the trace until it has been downloaded."""

        allow_reuse_address = True
        asked_for: str | None = None

    class Handler(http.server.SimpleHTTPRequestHandler):
        """Handler of requests for the trace."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=os.fspath(path.parent))

        def end_headers(self) -> None:
            self.send_header("Access-Control-Allow-Origin", _PERFETTO)
            super().end_headers()

        def do_GET(self) -> None:
            assert isinstance(self.server, Server)
            self.server.asked_for = self.path
            super().do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    url = f"http://127.0.0.1:{_PERFETTO_PORT}/{path.name}"
    with Server(("127.0.0.1", _PERFETTO_PORT), Handler) as server:
        print(f"Open URL in browser: {_PERFETTO}/#!/?url={url}")
        while server.asked_for != f"/{path.name}":
            server.handle_request()


# ---- annotations ----


class TraceAnnotation(_jaxlib.TraceMe):
    """Context manager that names a piece of the program in traces.

    Args:
      name: the text that traces show for the piece of the program.
      **kwargs: metadata shown with the name.

    Example:
      >>> with TraceAnnotation("loading", batch=3):
      ...     pass
    """

    @api_boundary
    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(encodable(name) if isinstance(name, str) else name, **kwargs)


class StepTraceAnnotation(TraceAnnotation):
    """Context manager that marks a step of a program, such as a training step, in traces.

    Args:
      name: the name of the kind of step.
      **kwargs: metadata shown with the step; ``step_num`` is the number of the step.

    Example:
      >>> for step in range(2):
      ...     with StepTraceAnnotation("train", step_num=step):
      ...         pass
    """

    @api_boundary
    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: F, name: str | None = None, **decorator_kwargs: Any) -> F:
    """Returns a function whose calls are named in traces.

    Args:
      func: the function.
      name: the name in traces; None for the function's own name.
      **decorator_kwargs: metadata shown with the name.

    Example:
      >>> @annotate_function
      ... def load(path):
      ...     return path
      >>> load("data")
      'data'
    """
    shown = name or function_name(func)

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated  # type: ignore[return-value]


# ---- the server for recordings by other programs ----

_server: Any = None


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Starts a server that lets TensorBoard or XProf record this process while it runs.

    Args:
      port: the TCP port.
      requires_backend: whether to initialize the devices first, so that they can be recorded.

    Returns:
      The server, which runs until `stop_server`.

    Raises:
      ValueError: a server is already running.
    """
    global _server
    if _server is not None:
        raise ValueError(
            "Only one profiler server can be active at a time; stop it with stop_server()."
        )
    if requires_backend:
        backends()
    _server = _jaxlib.start_server(port)
    return _server


def stop_server() -> None:
    """Stops the server that `start_server` started.

    Raises:
      ValueError: no server is running.
    """
    global _server
    if _server is None:
        raise ValueError("No active profiler server: start one with start_server(port).")
    _server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Includes a subprocess in the traces of this process.

    Args:
      pid: the process ID of the subprocess.
      port: the port of the server that the subprocess started with `start_server`.

    Returns:
      A function that undoes the registration.

    Raises:
      RuntimeError: the server cannot be reached.
    """
    return _jaxlib.register_subprocess(pid, port)


# ---- memory ----


def device_memory_profile(backend: str | None = None) -> bytes:
    """Returns a profile of the memory of a backend's devices, in pprof's format, gzipped.

    Args:
      backend: the platform; None for the default.

    Example:
      >>> device_memory_profile()[:2] == bytes([0x1f, 0x8b])
      True
    """
    return gzip.compress(get_backend(backend).heap_profile())


def save_device_memory_profile(filename: Any, backend: str | None = None) -> None:
    """Writes a profile of the memory of a backend's devices, for ``pprof``.

    Args:
      filename: the file to write.
      backend: the platform; None for the default.

    Example:
      >>> import os, tempfile
      >>> save_device_memory_profile(os.path.join(tempfile.mkdtemp(), "memory.prof"))
    """
    Path(filename).write_bytes(device_memory_profile(backend))


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """Returns the measured times of a program's instructions, for profile-guided compilation.

    Args:
      tensorboard_dir: the folder to which a profile was written.

    Returns:
      A serialized ``ProfiledInstructionsProto``.
    """
    return _jaxlib.get_profiled_instructions_proto(str(tensorboard_dir))
