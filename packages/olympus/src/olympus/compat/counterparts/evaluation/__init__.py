# SPDX-License-Identifier: Apache-2.0
"""Counterparts that divide programs into a known and an unknown part.

The modules import `counterparts.lists`.
"""
