"""The checks: one file per anomaly, each a pure function from DataFrames to findings."""
