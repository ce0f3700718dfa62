# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.diagnostics.user_warnings import warn_user as warn_user
