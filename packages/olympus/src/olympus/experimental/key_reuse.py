# SPDX-License-Identifier: Apache-2.0
"""The check that random keys are used once has no functions of its own.

The flag ``olympus_debug_key_reuse`` and the context `olympus.debug_key_reuse` turn it on.
"""
