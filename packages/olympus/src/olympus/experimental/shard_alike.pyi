# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax.annotations.functions import shard_alike as shard_alike
