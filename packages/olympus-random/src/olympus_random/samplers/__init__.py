# SPDX-License-Identifier: Apache-2.0
"""Samplers: functions of a key that draw from a distribution.

Modules here import `keys` and `generators`.
"""
