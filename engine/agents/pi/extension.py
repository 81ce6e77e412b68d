"""The extension by which pi tells us what it does, as text."""

from __future__ import annotations

import json
import shlex
from typing import Any

from takeback.engine.agents import ownedfile
from takeback.engine.agents.command import cli_command, hook_command
from takeback.engine.agents.pi.tools import READERS

MARK = f"// Written by takeback. {ownedfile.mark('pi')}"
"""The first line of every extension of ours."""

_HOOK = "const HOOK: string[] = "
_CALL = "const TAKEBACK: string[] = "

_TEXT = """\
{mark}
// It tells takeback which files pi is about to change. It never stops pi: errors are dropped here
// and noted by takeback, see 'takeback doctor'.
import {{ spawnSync }} from "node:child_process";

{hook};
{call};
const READS = new Set({reads});
// As long as the longest pause before a third try, of pi's own settings, and more.
const GIVES_UP_MS = 15000;
const COMMANDS = [
  ["undo", "undo", "Take back what the newest turn did to files (options as of 'takeback undo')"],
  ["redo", "redo", "Put back what the newest undo took back"],
  ["status", "history", "Show what undo and redo would do next"],
];

// Waits: what is told before a tool runs must be noted before it writes. Gives what takeback says.
function tell(event: string, ctx: any, fields: Record<string, unknown> = {{}}): string {{
  try {{
    const session = ctx.sessionManager;
    const payload = {{
      hook_event_name: event,
      session_id: session.getSessionId(),
      transcript_path: session.getSessionFile() ?? "",
      cwd: ctx.cwd,
      ...fields,
    }};
    const done = spawnSync(HOOK[0], HOOK.slice(1), {{
      input: JSON.stringify(payload),
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
      env: {{ ...process.env, TAKEBACK_AGENT_PID: String(process.pid) }},
      timeout: 60000,
      killSignal: "SIGKILL",
    }});
    return done.stdout ?? "";
  }} catch {{
    return "";
  }}
}}

function textOf(message: any): string {{
  const content = message?.content;
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter((part: any) => part?.type === "text") : [];
  return parts.map((part: any) => part.text).join("\\n");
}}

// What a tool is asked for, without what it writes.
function inputOf(input: any): Record<string, unknown> {{
  return {{ path: input?.path, command: input?.command }};
}}

function words(text: string): string[] {{
  const found = (text ?? "").match(/"[^"]*"|'[^']*'|\\S+/g) ?? [];
  return found.map((word) => (/^(["']).*\\1$/.test(word) ? word.slice(1, -1) : word));
}}

export default function (pi: any) {{
  const running = new Set<string>();
  let turn = "";
  let prompted = false;
  let first = false;
  let waiting: any;

  const on = (event: string, handler: (event: any, ctx: any) => unknown) =>
    pi.on(event, async (payload: any, ctx: any) => {{
      try {{
        return handler(payload, ctx);
      }} catch {{
        return undefined;
      }}
    }});

  on("before_agent_start", (event, ctx) => {{
    clearTimeout(waiting);
    turn = ctx.sessionManager.getLeafId() ?? "first";
    prompted = first = true;
    const said = tell("before_agent_start", ctx, {{ turn_id: turn, prompt: event.prompt }});
    // What the user took back or put back meanwhile, for the model to know.
    const content = said.trim() ? JSON.parse(said).note : "";
    if (content) return {{ message: {{ customType: "takeback", content, display: true }} }};
  }});
  on("agent_start", (_event, ctx) => {{
    clearTimeout(waiting);
    if (!prompted) tell("agent_start", ctx, {{ turn_id: turn }});
    prompted = false;
  }});
  on("message_end", (event, ctx) => {{
    if (event.message?.role !== "user") return;
    if (!first) tell("user_message", ctx, {{ turn_id: turn, prompt: textOf(event.message) }});
    first = false;
  }});
  on("tool_call", (event, ctx) => {{
    if (READS.has(event.toolName)) return;
    running.add(event.toolCallId);
    tell("tool_call", ctx, {{
      tool_name: event.toolName,
      tool_call_id: event.toolCallId,
      tool_input: inputOf(event.input),
    }});
  }});
  const ended = (event: any, ctx: any) => {{
    if (!running.delete(event.toolCallId)) return;
    tell("tool_result", ctx, {{
      tool_name: event.toolName,
      tool_call_id: event.toolCallId,
      tool_input: inputOf(event.input),
      is_error: event.isError === true,
    }});
  }};
  on("tool_result", ended);
  on("tool_execution_end", ended); // Where another extension has refused the call.
  on("turn_end", (event, ctx) => {{
    const message = event.message;
    tell("turn_end", ctx, {{ text: textOf(message), stop_reason: message?.stopReason }});
  }});
  on("agent_end", (event, ctx) => {{
    first = false;
    const last = (event.messages ?? []).filter((one: any) => one?.role === "assistant").pop();
    tell("agent_end", ctx, {{ stop_reason: last?.stopReason }});
    if (last?.stopReason !== "error") return;
    // pi says of no error whether it tries again: when it is idle for long, it does not.
    const session = ctx.sessionManager.getSessionId();
    waiting = setTimeout(() => {{
      try {{
        if (ctx.sessionManager.getSessionId() !== session || !ctx.isIdle()) return;
        tell("gave_up", ctx);
      }} catch {{}}
    }}, GIVES_UP_MS);
    waiting.unref();
  }});
  on("session_shutdown", (event, ctx) => {{
    if (event.reason !== "reload") tell("session_shutdown", ctx);
  }});

  for (const [name, verb, description] of COMMANDS) {{
    try {{
      pi.registerCommand(`takeback-${{name}}`, {{
        description,
        handler: async (args: string, ctx: any) => {{
          const done = spawnSync(TAKEBACK[0], [...TAKEBACK.slice(1), verb, ...words(args)], {{
            cwd: ctx.cwd,
            input: "",
            encoding: "utf8",
            timeout: 600000,
          }});
          const said = [done.stdout, done.stderr, done.error?.message].filter(Boolean).join("\\n");
          if (ctx.hasUI) ctx.ui.notify(said.trim(), done.status === 0 ? "info" : "warning");
          else console.error(said.trim());
        }},
      }});
    }} catch {{}}
  }}
}}
"""


def text(data_dir: str = "") -> bytes:
    """The whole extension.

    Raises:
        UsageError: the interpreter's place is unknown, or its name is no text.
    """
    hook = json.dumps(shlex.split(hook_command("pi", data_dir)))
    call = json.dumps(shlex.split(cli_command(data_dir)))
    fields = {"mark": MARK, "hook": _HOOK + hook, "call": _CALL + call}
    return _TEXT.format(**fields, reads=json.dumps(sorted(READERS))).encode()


def command_of(data: bytes) -> list[str]:
    """The words of the hook's command in an extension of ours; none where it has none."""
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith(_HOOK):
            try:
                found: Any = json.loads(line.removeprefix(_HOOK).removesuffix(";"))
            except ValueError:
                return []
            listed = isinstance(found, list) and all(isinstance(word, str) for word in found)
            return found if listed else []
    return []


def is_current(data: bytes) -> bool:
    """Whether an extension is of this version, whatever the commands are in it."""
    return _body(data) == _body(text())


def _body(data: bytes) -> list[bytes]:
    varying = (_HOOK.encode(), _CALL.encode())
    return [line for line in data.split(b"\n") if not line.startswith(varying)]
