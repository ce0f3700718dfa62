# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import pytree_serialization as pytree_serialization
from . import serialization as serialization
from . import tensorstore_impl as tensorstore_impl
