"""What must be built or fetched before the rest can run: pinned, verified, kept in the cache directory."""
