# SPDX-License-Identifier: Apache-2.0
"""Members that only libraries written for JAX need.

The other folders never import this one.
"""
