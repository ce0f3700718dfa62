# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.foreign.buffer_callbacks import Buffer as Buffer
from olympus_xla.foreign.buffer_callbacks import ExecutionContext as ExecutionContext
from olympus_xla.foreign.buffer_callbacks import ExecutionStage as ExecutionStage
from olympus_xla.foreign.buffer_callbacks import buffer_callback as buffer_callback
