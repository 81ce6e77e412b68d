"""OpenCode: its plugin, its settings folders, its database."""
