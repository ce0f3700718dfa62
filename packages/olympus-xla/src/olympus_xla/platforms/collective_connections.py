# SPDX-License-Identifier: Apache-2.0
"""Connections between the devices of CPUs, over which Gloo runs collectives.

A collective whose peer fails may wait forever: each device has connections of its own, and those
between two devices of one process stay open. Closing them ends the collective with an error.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from typing import TypeVar

__all__ = ["break_connections", "noting_listener"]

_T = TypeVar("_T")

# The addresses at which Gloo listens in this process.
_addresses: set[tuple] = set()


def noting_listener(make: Callable[[], _T]) -> _T:
    """Returns the result of a function that lets Gloo listen, and stores the address."""
    known = _listening()
    made = make()
    _addresses.update(_listening() - known)
    return made


def break_connections() -> None:
    """Closes the connections of this process's collectives, so that those in progress fail."""
    for connection in _sockets():
        with connection:
            try:
                ends = {connection.getsockname(), connection.getpeername()}
                if ends & _addresses:
                    connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # a listener, or a connection that has ended


def _listening() -> set[tuple]:
    found = set()
    for candidate in _sockets():
        with candidate:
            try:
                if candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    found.add(candidate.getsockname())
            except OSError:
                pass
    return found


def _sockets() -> Iterator[socket.socket]:
    """Yields a copy of each socket of the process; none where the system does not list them."""
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return
    for number in numbers:
        try:
            copy = os.dup(int(number))
        except OSError:  # closed meanwhile
            continue
        try:
            yield socket.socket(fileno=copy)
        except OSError:  # no socket
            os.close(copy)
