"""The command line behind ./kastellan: one file a verb, thin; the work is done in the rooms it calls."""
