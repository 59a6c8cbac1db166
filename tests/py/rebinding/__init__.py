"""Programs whose functions and objects are replaced between calls: see programs.py."""
