# SPDX-License-Identifier: Apache-2.0
"""Compares OLYMPUS with JAX: equal programs in alternating processes, and ratios of their times."""
