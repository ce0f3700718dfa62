# SPDX-License-Identifier: Apache-2.0
"""OLYMPUS beside JAX: the same programs in alternating processes, and the ratios of their times."""
