"""What the user typed, out of what OpenCode keeps of it."""

from __future__ import annotations


def typed(text: str) -> str:
    """A prompt as it was typed.

    What is given to ``opencode run`` as one argument with blanks is kept as in a shell: between
    double quotes, with those inside escaped.
    """
    inner = text[1:-1]
    quoted = len(text) > 2 and text[0] == text[-1] == '"' and " " in inner
    if not quoted or '"' in inner.replace('\\"', ""):
        return text
    return inner.replace('\\"', '"')
