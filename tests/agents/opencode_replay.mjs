// Gives captured calls of OpenCode to our plugin, in their order.
// node opencode_replay.mjs PLUGIN CALLS: the plugin's own hook command decides what comes of them.
import { readFileSync } from "node:fs"

const { Takeback } = await import(process.argv[2])
const client = { session: { get: async () => { throw new Error("no server") } } }
let hooks
for (const line of readFileSync(process.argv[3], "utf8").split("\n").filter(Boolean)) {
  const { event, payload } = JSON.parse(line)
  if (event === "init") hooks = await Takeback({ ...payload.input, client })
  else await hooks[event]?.(payload.input, payload.output)
}
