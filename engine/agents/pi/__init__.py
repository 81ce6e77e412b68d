"""pi: its extension, its session files."""
