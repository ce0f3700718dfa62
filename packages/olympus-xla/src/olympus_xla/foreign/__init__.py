# SPDX-License-Identifier: Apache-2.0
"""Code of others that programs or the compiler call: foreign functions, callbacks, partitioners.

The primitives and what the public functions make of them; their lowering rules lie in
`compiling.lowering.rules`. May import `arrays` and below.
"""
