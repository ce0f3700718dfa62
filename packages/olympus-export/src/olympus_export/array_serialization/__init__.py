# SPDX-License-Identifier: Apache-2.0
"""Arrays of many devices and processes in files, written and read in parallel by TensorStore.

The library tensorstore is optional: ``pip install tensorstore``. The first use imports it.
"""
