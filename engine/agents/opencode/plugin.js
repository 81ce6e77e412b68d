// Made by takeback: records what OpenCode does to files. Remove it with: takeback uninstall opencode
//
// Every event goes to takeback at once and in its order, in a process of its own. OpenCode does not
// wait for what an `event` handler leaves unfinished, and an error of ours must never reach it.
import { spawnSync } from "node:child_process"

const HOOK = @HOOK@
const CLI = @CLI@
const COMMANDS = @COMMANDS@
const READERS = new Set(@READERS@)
const LONGEST_MS = 60000
const LONGEST_COMMAND_MS = 600000
const TARGET = /(^|\s)--(session|turn|to|step|call)\b/

const text = (value) => (typeof value === "string" ? value : "")

const promptOf = (parts) => {
  const typed = parts.filter((part) => part && !part.synthetic && !part.ignored)
  const said = typed.map((part) => (part.type === "text" ? text(part.text) : part.type === "subtask" ? text(part.prompt) : ""))
  return { prompt: said.filter(Boolean).join("\n"), typed: typed.length > 0 }
}

const argsOf = (args) => {
  const found = {}
  for (const name of ["filePath", "path", "command", "patchText"])
    if (typeof args?.[name] === "string") found[name] = args[name]
  return found
}

const jsonOf = (given) => {
  try {
    return JSON.parse(given)
  } catch {}
}

const opened = (key, children) => ({ key, calls: new Map(), children: new Set(children), texts: new Map(), steps: new Set() })

const wordsOf = (given) =>
  (text(given).match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => (/^(["']).*\1$/.test(word) ? word.slice(1, -1) : word))

export const Takeback = async ({ directory, client }) => {
  const parents = new Map() // session -> the session whose subagent it is, or ""
  const titles = new Map()
  const turns = new Map() // session of the user -> its open turn
  const called = new Set() // sessions whose next prompt is a call of takeback itself

  const send = (name, session, fields) => {
    if (!text(session)) return
    try {
      const input = JSON.stringify({ ...fields, hook_event_name: name, session_id: session, cwd: directory })
      const env = { ...process.env, TAKEBACK_AGENT_PID: String(process.pid) }
      const more = { encoding: "utf8", cwd: "/", timeout: LONGEST_MS, killSignal: "SIGKILL" }
      return spawnSync(HOOK[0], HOOK.slice(1), { input, env, stdio: ["pipe", "pipe", "ignore"], ...more }).stdout
    } catch {}
  }

  // What takeback has to say goes to the model with the prompt; OpenCode does not show it.
  const tell = (said, { message, parts }) => {
    const note = text(JSON.parse(said || "{}").note)
    const last = text(parts.at(-1)?.id)
    if (!note || last.length < 30) return
    // Parts are ordered by their ids: this one comes after the others.
    const id = last.slice(0, -14) + "z".repeat(14)
    parts.push({ id, messageID: message.id, sessionID: message.sessionID, type: "text", text: note, synthetic: true })
  }

  const learn = async (session) => {
    if (parents.has(session)) return
    const late = new Promise((done) => setTimeout(done, 2000).unref?.())
    const found = await Promise.race([client.session.get({ path: { id: session } }), late]).catch(() => undefined)
    if (!parents.has(session)) parents.set(session, text(found?.data?.parentID))
  }

  const rootOf = (session) => {
    for (let up = 0; up < 20 && parents.get(session); up++) session = parents.get(session)
    return session
  }

  const step = (session, turn) => {
    if (turn?.held !== undefined && !turn.quiet) send("step", session, { key: turn.key, text: turn.held })
    if (turn) turn.held = undefined
  }

  const failed = (session, turn, call) => {
    const { tool, args } = turn.calls.get(call)
    turn.calls.delete(call)
    send("tool.execute.after", session, { key: turn.key, call, tool, args, failed: true })
  }

  const idle = (session, turn) => {
    const background = turn.children.size > 0
    const interrupted = Boolean(turn.error) && !background
    if (!turn.quiet) send("session.idle", session, { key: turn.key, text: turn.held ?? "", interrupted, background })
    turn.held = undefined
    turn.busy = false
    turn.waits = background
    if (!background) turns.delete(session)
  }

  const answered = (info) => {
    const root = rootOf(info.sessionID)
    const turn = turns.get(root)
    if (!turn || turn.steps.has(info.id)) return
    turn.steps.add(info.id)
    for (const [call, known] of [...turn.calls]) if (known.session === info.sessionID) failed(root, turn, call)
    if (root !== info.sessionID || info.summary === true) return
    step(root, turn)
    turn.held = [...(turn.texts.get(info.id)?.values() ?? [])].join("\n\n")
    turn.texts.delete(info.id)
    turn.error = Boolean(info.error)
    // The last answer goes with the end of the turn.
    if (/tool/.test(text(info.finish))) step(root, turn)
  }

  const said = (turn, message, part, words) => {
    if (!turn.texts.has(message)) turn.texts.set(message, new Map())
    turn.texts.get(message).set(part, text(words))
  }

  const part = (part) => {
    const root = rootOf(part.sessionID)
    const turn = turns.get(root)
    if (!turn) return
    if (part.type === "tool" && part.state?.status === "error" && turn.calls.has(part.callID)) failed(root, turn, part.callID)
    if (part.type !== "text" || root !== part.sessionID || part.synthetic || !text(part.text)) return
    said(turn, part.messageID, part.id, part.text)
  }

  const status = (session, busy) => {
    const root = rootOf(session)
    const turn = turns.get(root)
    if (!turn) return
    if (root === session) turn.busy = busy
    else if (busy) turn.children.add(session)
    else turn.children.delete(session)
    if (turn.waits && !turn.busy && turn.children.size === 0) idle(root, turn)
  }

  // The newer interface knows no hooks. Its events come here all the same where the older one is in
  // use for the folder, and what is sent from within an event holds up what comes after it.
  const names = new Map() // call -> its tool
  const newer = (kind, given) => {
    const session = given.sessionID
    const root = rootOf(session)
    let turn = turns.get(root)
    if (kind === "prompted" || (kind === "step.started" && !turn)) {
      if (root !== session) return
      if (!turn) turns.set(session, (turn = opened(given.messageID ?? given.assistantMessageID)))
      turn.busy = true
      const fields = { key: turn.key, prompt: text(given.prompt?.text), title: text(titles.get(session)) }
      send("session.next.prompted", session, { ...fields, continues: kind !== "prompted" })
    } else if (kind === "tool.input.started") names.set(given.callID, text(given.name))
    else if (kind === "tool.input.ended") asked(root, session, given.callID, names.get(given.callID), jsonOf(given.text))
    else if (kind === "tool.called") asked(root, session, given.callID, text(given.tool), given.input)
    else if (kind === "tool.success" || kind === "tool.failed") {
      if (/interrupted/.test(text(given.error?.message)) && turn && root === session) turn.error = true
      const known = turn?.calls.get(given.callID)
      if (known) ended({ tool: known.tool, sessionID: session, callID: given.callID, args: known.args }, { metadata: given.structured }, kind === "tool.failed")
      names.delete(given.callID)
    } else if (kind === "text.ended" && turn && root === session) said(turn, given.assistantMessageID, given.textID, given.text)
    else if ((kind === "step.ended" || kind === "step.failed") && turn) {
      const info = { id: given.assistantMessageID, sessionID: session, finish: given.finish }
      answered({ ...info, error: kind === "step.failed" || turn.error })
      if (root === session && (turn.error || !/tool/.test(text(given.finish)))) idle(session, turn)
    }
  }

  const asked = (root, session, call, tool, args) => {
    if (READERS.has(tool) || !tool || turns.get(root)?.calls.has(call)) return
    opens(root, session, call, tool, argsOf(args))
  }

  const event = ({ type, properties: given }) => {
    if (type?.startsWith("session.next.")) newer(type.slice("session.next.".length), given)
    else if (type === "session.created" || type === "session.updated") {
      parents.set(given.info.id, text(given.info.parentID))
      titles.set(given.info.id, text(given.info.title))
    } else if (type === "session.status") status(given.sessionID, given.status?.type !== "idle")
    else if (type === "message.part.updated") part(given.part)
    else if (type === "message.updated") {
      if (given.info.role === "assistant" && given.info.time?.completed) answered(given.info)
    } else if (type === "session.error") {
      const turn = turns.get(given.sessionID)
      if (turn) turn.error = true
    } else if (type === "session.idle") {
      status(given.sessionID, false)
      const turn = turns.get(given.sessionID)
      if (turn && !turn.waits) idle(given.sessionID, turn)
    }
  }

  const begin = (session, turn, fields) => {
    turn.quiet = undefined
    return send("chat.message", session, fields)
  }

  const prompted = async (session, output) => {
    const { message, parts } = output
    await learn(session)
    if (parents.get(session)) return
    const { prompt, typed } = promptOf(parts)
    let turn = turns.get(session)
    if (!turn?.busy) {
      // A prompt that waits until the running one is done belongs to the same turn.
      turn = opened(message.id, turn?.children)
      turns.set(session, turn)
    }
    const fields = { key: turn.key, prompt, title: text(titles.get(session)), continues: !typed }
    if (!called.delete(session)) tell(begin(session, turn, fields), output)
    else if (!turn.busy) turn.quiet = fields
  }

  const begun = async ({ tool, sessionID, callID }, args) => {
    if (READERS.has(tool)) return
    await learn(sessionID)
    opens(rootOf(sessionID), sessionID, callID, tool, argsOf(args))
  }

  const opens = (root, sessionID, callID, tool, picked) => {
    const turn = turns.get(root)
    if (turn?.quiet) begin(root, turn, turn.quiet)
    step(root, turn)
    turn?.calls.set(callID, { session: sessionID, tool, args: picked })
    send("tool.execute.before", root, { key: turn?.key, call: callID, tool, args: picked })
  }

  const ended = ({ tool, sessionID, callID, args }, output, failed) => {
    if (READERS.has(tool)) return
    const root = rootOf(sessionID)
    const turn = turns.get(root)
    turn?.calls.delete(callID)
    const exit = output?.metadata?.exit
    send("tool.execute.after", root, { key: turn?.key, call: callID, tool, args: argsOf(args), exit, failed })
  }

  // What the user calls by its name in OpenCode: takeback does it, the model only shows what it said.
  // That is no work, so it is no turn either, unless the model does something all the same.
  const commanded = ({ command, sessionID, arguments: given }, { parts }) => {
    const verb = COMMANDS[command]
    const part = parts.find((part) => part.type === "text")
    if (!verb || !part) return
    const own = verb === "history" || TARGET.test(text(given)) ? [] : ["--session", sessionID]
    const more = { cwd: directory, input: "", encoding: "utf8", timeout: LONGEST_COMMAND_MS }
    const done = spawnSync(CLI[0], [...CLI.slice(1), verb, ...own, ...wordsOf(given)], more)
    const said = [done.stdout, done.stderr, done.error?.message].filter(Boolean).join("\n").trim()
    called.add(sessionID)
    part.text = `${part.text}\n\n${said}\n\n(exit code ${done.status})`
  }

  const safely = (act) => async (input, output) => {
    try {
      await act(input, output)
    } catch {}
  }

  return {
    "chat.message": safely((input, output) => prompted(input.sessionID, output)),
    "tool.execute.before": safely((input, output) => begun(input, output.args)),
    "tool.execute.after": safely(ended),
    "command.execute.before": safely(commanded),
    event: safely((input) => event(input.event)),
    dispose: safely(() => {
      for (const [session, turn] of turns) if (!turn.quiet) send("dispose", session, { key: turn.key })
      turns.clear()
    }),
  }
}
