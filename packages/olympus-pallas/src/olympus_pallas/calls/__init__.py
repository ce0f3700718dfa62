# SPDX-License-Identifier: Apache-2.0
"""`pallas_call`: the primitive, batching, derivatives, interpretation as an array program.

The folder may import `operations` and what lies below it. `lowerings` has the rules of the
platforms.
"""
