# SPDX-License-Identifier: Apache-2.0
"""Flags, thread-local states, and the library names in messages.

Within `olympus_ir`, this package imports only `_jaxlib`.
"""
