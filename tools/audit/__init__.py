"""What we pin, against weaknesses that are known: offline, by data that lies here with its date."""
