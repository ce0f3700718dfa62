# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of arrays on many devices and processes, written and read in parallel by TensorStore.

The library tensorstore is optional: ``pip install tensorstore``. The first use imports it.
"""
