# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.processes.transfer_server import TransferConnection as TransferConnection
from olympus_xla.processes.transfer_server import TransferServer as TransferServer
from olympus_xla.processes.transfer_server import make_error_array as make_error_array
from olympus_xla.processes.transfer_server import start_transfer_server as start_transfer_server
