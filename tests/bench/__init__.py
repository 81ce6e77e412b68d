"""Benchmarks: what takeback costs beside a peer's sequence of git commands and plain git.

``python -m tests.bench --tree a|b|c`` prints ratios within one run, the only evidence that holds
across machines, and whether each target is met. Nothing here is a test with a deadline.
"""
