# SPDX-License-Identifier: Apache-2.0
"""Registration, flattening, paths and prefixes of pytrees, and conversion to flat functions.

May import `diagnostics` and below.
"""
