# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.

