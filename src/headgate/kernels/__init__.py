"""The compiled inner loops. Every other layer is NumPy; each kernel here has a slow reference in the tests.

Importing a module of this package loads its machine code, or compiles it the first time (`cache` says where it is
kept); so callers import a kernel where they first need it. `headgate warm` compiles all of them ahead of time.
"""
