"""What a stack is built of; the same whatever makes the hosts."""
