# SPDX-License-Identifier: Apache-2.0
"""Core_maps: TODO say what lives here and what it may import."""
