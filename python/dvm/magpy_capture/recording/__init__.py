"""What was recorded of one call: its events with their results, as data."""
