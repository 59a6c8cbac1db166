"""The recording, the way through its events, and what each kind means."""
