"""The paper: its literal networks, ablations and baselines; its figures, tables and campaign statistics beside ours.

`benchmarks/injection.py` studies which reading of its noise injection gives its figures.
"""
