# SPDX-License-Identifier: Apache-2.0
"""Collection of a profile from another process, which has called ``profiler.start_server``.

    python -m olympus.collect_profile 9999 1000 --log_dir profiles

This command requests a profile of one second from the process with a server at port 9999 of this
machine. It needs the package ``xprof``, which communicates with the server.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .profiler import serve_to_perfetto, write_perfetto_trace

__all__ = ["collect_profile", "main", "run"]


def _client() -> Any:
    """Returns the module of xprof that communicates with profiler servers."""
    for name in (
        "xprof.convert._pywrap_profiler_plugin",
        "tensorboard_plugin_profile.convert._pywrap_profiler_plugin",
    ):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError("collect_profile requires `xprof` to be installed: pip install xprof")


def collect_profile(
    port: int,
    duration_in_ms: int,
    host: str,
    log_dir: str | os.PathLike[str] | None,
    no_perfetto_link: bool,
    xprof_options: Mapping[str, Any] | None = None,
) -> None:
    """Collects a profile of another process.

    Args:
      port: the port of the process's profiler server.
      duration_in_ms: the duration of the profile in milliseconds.
      host: the machine on which the process runs.
      log_dir: the folder for the profile; by default a temporary folder.
      no_perfetto_link: whether to omit the link to Perfetto.
      xprof_options: further options of the profiler.

    Raises:
      ImportError: ``xprof`` is not installed.
    """
    client = _client()
    if log_dir is None:
        log_dir = tempfile.mkdtemp(prefix="olympus_profile_")
    options = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": 1}
    options.update(xprof_options or {})
    folder = Path(log_dir)
    client.trace(f"{host}:{port}", str(folder), "", True, duration_in_ms, 3, options)
    print(f"Dumped profiling information in: {folder}")
    if not no_perfetto_link:
        serve_to_perfetto(write_perfetto_trace(str(folder)))


def main(known_args: argparse.Namespace, unknown_flags: Sequence[str]) -> None:
    """Runs the command.

    Args:
      known_args: the options of the command.
      unknown_flags: options of the profiler, each as ``--name=value``.
    """
    options: dict[str, Any] = {}
    for flag in unknown_flags:
        name, _, value = flag.lstrip("-").partition("=")
        options[name] = int(value) if value.lstrip("-").isdigit() else value
    collect_profile(
        known_args.port,
        known_args.duration_in_ms,
        known_args.host,
        known_args.log_dir,
        known_args.no_perfetto_link,
        options,
    )


def run() -> None:
    """Runs the command with the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m olympus.collect_profile",
        description="Collects a profile of a process that started a profiler server.",
    )
    parser.add_argument("port", type=int, help="the port of the profiler server")
    parser.add_argument("duration_in_ms", type=int, help="for how long, in milliseconds")
    parser.add_argument("--host", default="127.0.0.1", help="the machine of the process")
    parser.add_argument("--log_dir", default=None, help="the folder to write to")
    parser.add_argument("--no_perfetto_link", action="store_true", help="show no link to Perfetto")
    main(*parser.parse_known_args())
