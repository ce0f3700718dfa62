# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.annotations.functions import set_xla_metadata as set_xla_metadata
