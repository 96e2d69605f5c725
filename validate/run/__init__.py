"""The runner: takes a cluster through scenarios and leaves a run folder with a verdict for each."""
