"""Methods × held-out flights × noise levels × training seeds → one tidy table, and tables that compare methods.

`results.parquet` has the columns part (simulated, seen, scarcity, ablation, real, ambient), method, dress (output head,
objective or target: plain, clip, oracle, softplus, softplus+tv, skip, recorrupted, response, with slope, t90 ±15 %),
family, channel ("all": mean), flight, noise (flight; inject 0.05: known truth plus noise; noisy 0.05: a noisy record
plus noise, scored against that record; record and pair: real data; ambient: a flight scored against the air; τ 3 s:
real air through an artificial sensor), seed, campaigns (of training data), metric, value, parameters,
training_s (processor seconds, one thread), inference_ms (the same, per 128 samples).
"""

from pc2dae.benchmark.plan import FULL, PARTS, QUICK, BenchmarkPlan, plan_of
from pc2dae.benchmark.result_table import ResultTable
from pc2dae.benchmark.task import run, so_far

__all__ = ["FULL", "PARTS", "QUICK", "BenchmarkPlan", "ResultTable", "plan_of", "run", "so_far"]
