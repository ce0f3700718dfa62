# SPDX-License-Identifier: Apache-2.0
"""Bit generators: functions that make bits and further keys from the data of a key.

Importing this folder registers every generator. The modules of this folder work on the uint32 data
of keys, and import nothing else of this package.
"""

from __future__ import annotations

from . import random123, rbg, threefry  # noqa: F401 - each registers its generators
