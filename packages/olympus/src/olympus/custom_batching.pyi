# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_batching import custom_vmap as custom_vmap
from olympus_batching.custom_batching import sequential_vmap as sequential_vmap
