# SPDX-License-Identifier: Apache-2.0
"""Bit generators: from the data of a key to bits and to further keys.

Importing this folder registers every generator. Its modules work on the uint32 data of keys, and
import nothing of this package but each other.
"""

from __future__ import annotations

from . import random123, rbg, threefry  # noqa: F401 - each registers its generators
