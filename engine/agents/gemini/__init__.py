"""Gemini CLI: its hooks, its settings files, its chats."""
