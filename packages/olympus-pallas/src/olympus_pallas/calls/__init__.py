# SPDX-License-Identifier: Apache-2.0
"""Calls: TODO say what lives here and what it may import."""
