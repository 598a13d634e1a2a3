// gateway restart: has the running gateway start its successor, which takes its place without a gap. It must never leave the
// gateway without a serving process: if a successor does not start, nothing changes.

import { defineCommand } from 'citty'
import { commandArgs, dataDirOf, type SettingsFlags } from '../configuration/settings'
import { commandLineActor } from '../lib/actor'
import { CommandFailed } from '../lib/errors'
import { askServer, needServer } from '../process/control'
import type { Status } from '../process/control-channel'
import { paint, print, printJson } from '../view/output'

/** How long the new process may take to open its control channel once it serves. */
const PATIENCE_MS = 10_000
const CHECK_MS = 50

export const restart = defineCommand({
  meta: {
    name: 'restart',
    description:
      'Replace the running gateway without a gap, by the executable that has its file now: same flags, same environment.',
    examples: ['gateway restart', 'gateway restart --json'],
  },
  args: commandArgs,
  async run({ args }) {
    const before = await needServer(dataDirOf(args), 'GET /status')
    const restarted = await needServer(dataDirOf(args), 'POST /restart', commandLineActor().name)
    if ('fault' in restarted) {
      if (args.json) printJson({ ok: false, fault: restarted.fault })
      throw new CommandFailed(`Not restarted: the running gateway keeps serving. ${restarted.fault}.`)
    }
    const now = await statusOf(restarted.pid, args)
    const { pid, version, url } = now
    if (args.json) {
      return printJson({
        ok: true,
        url,
        version,
        pid,
        before: { version: before.version, pid: before.pid, drain_seconds: before.drainSeconds },
      })
    }
    print(paint('green', `Restarted: ${url} is served by version ${version}, process ${pid}.`))
    print(
      `Process ${before.pid}${before.version === version ? '' : ` (${before.version})`} ends what it has begun, within ${before.drainSeconds} seconds. SIGTERM shortens that.`,
    )
  },
})

/** The status of a process that has just started to serve. */
async function statusOf(pid: number, flags: SettingsFlags): Promise<Status> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const status = await askServer(dataDirOf(flags), 'GET /status').catch(() => undefined)
    if (status?.pid === pid) return status
    if (performance.now() > deadline) {
      throw new CommandFailed(
        `Process ${pid} has taken over and does not answer on its control channel: see the log of the gateway.`,
      )
    }
    await Bun.sleep(CHECK_MS)
  }
}
