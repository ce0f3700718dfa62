# SPDX-License-Identifier: Apache-2.0
"""The foundation of all functions: compilation, promotion, checked axes, lazy derivative rules.

This folder imports no other folder of this package.
"""
