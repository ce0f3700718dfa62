# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from typing import Any
Callable: Any
shard_map: Any
