# SPDX-License-Identifier: Apache-2.0
"""Lowerings: TODO say what lives here and what it may import."""
