"""What Spark needs beyond PySpark's own jars: its source for Kafka."""
