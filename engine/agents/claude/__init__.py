"""Claude Code: its hooks, its settings files, its transcripts."""
