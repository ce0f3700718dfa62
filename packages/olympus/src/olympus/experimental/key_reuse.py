# SPDX-License-Identifier: Apache-2.0
"""Check that each random key is used once. This module has no public functions.

The flag ``olympus_debug_key_reuse`` and the context `olympus.debug_key_reuse` turn the check on.
"""
