"""Breaking hosts on purpose, over ssh, so that they heal on any exit and leave proof of what was done."""
