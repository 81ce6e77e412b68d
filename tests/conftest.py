"""What every test may rely on."""

from __future__ import annotations

import signal

# A shell that starts us in the background has these ignored, and so would every program under
# test: then no keyboard could interrupt it.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        _default = signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL
        signal.signal(_number, _default)
