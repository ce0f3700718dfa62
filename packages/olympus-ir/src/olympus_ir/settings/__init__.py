# SPDX-License-Identifier: Apache-2.0
"""Flags, thread-local states, and the library names in messages.

Imports only `_jaxlib` from the package.
"""
