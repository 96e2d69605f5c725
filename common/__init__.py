"""The one leaf that every room may import: errors, names, running commands over ssh. It imports nothing of ours."""
