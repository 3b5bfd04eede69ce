"""Generators of the documentation pages that come from the package `tsql` and from the notebooks."""
