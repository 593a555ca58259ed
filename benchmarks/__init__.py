"""What sentinel costs: CPU per event beside its floor, memory per run, replay, latency, imports.

`python -m benchmarks` prints it all; docs/benchmarks.md says what each figure means. Machines differ and are shared,
so the figures to compare are the ratios: cells are measured in turn, round after round, and medians are taken.
"""
