# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_export.array_serialization.pytree import load as load
from olympus_export.array_serialization.pytree import load_pytreedef as load_pytreedef
from olympus_export.array_serialization.pytree import nonblocking_load as nonblocking_load
from olympus_export.array_serialization.pytree import nonblocking_save as nonblocking_save
from olympus_export.array_serialization.pytree import save as save
