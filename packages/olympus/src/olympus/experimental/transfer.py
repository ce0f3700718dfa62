# SPDX-License-Identifier: Apache-2.0
"""Transfer of arrays between programs over the network."""

from olympus_xla.processes.transfer_server import (
    TransferConnection,
    TransferServer,
    make_error_array,
    start_transfer_server,
)

from .._faces import present as _present

__all__ = ["TransferConnection", "TransferServer", "make_error_array", "start_transfer_server"]

_present(__name__)
