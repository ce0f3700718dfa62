# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_numpy.arrays.flatten_util import ravel_pytree as ravel_pytree
