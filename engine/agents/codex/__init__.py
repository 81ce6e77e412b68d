"""Codex CLI: its hooks, its settings files, its rollouts (session files)."""
