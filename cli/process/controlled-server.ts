// The server of this process as other commands reach it: its state, its configuration, and its departure. What they change is in the
// audit trail.

import { type RecordedChange, record } from '../../src/admin/audit-trail'
import type { LogOutput } from '../../src/app/log'
import type { Server } from '../../src/app/server'
import { program } from '../../src/db/schema/program'
import { lineOf } from '../../src/lib/error-line'
import { type ControlHandlers, openControl } from './control-channel'
import type { ServeLock } from './serve-lock'
import { commandOfSuccessor, Handover } from './take-over'

/** How long running requests may continue after another gateway has taken over, in seconds. */
export const DRAIN_SECONDS_WHEN_REPLACED = 1_800
const HELD_BY_SYSTEMD =
  'systemd holds the port: `systemctl restart gateway.service` replaces this process, and clients that connect meanwhile wait for the next one'

interface ControlParts {
  dataDir: string
  file: string | undefined
  /** Ends when another process has taken the place of this one. */
  leaving: PromiseWithResolvers<void>
  lock: ServeLock
  isPassed: boolean
  log: LogOutput['log']
}

/** Opens the control channel of a server. Returns how to close it. */
export function openControls(server: Server, parts: ControlParts): () => Promise<void> {
  const { dataDir, lock, leaving, log } = parts
  const by: { restarted: string | null } = { restarted: null }
  const departure = new Handover({
    ...{ server, dataDir, lock, command: commandOfSuccessor() },
    reopenControl() {
      if (!channels.at(-1)?.isInPlace()) channels.push(openControl(dataDir, controlled, log))
    },
    async onLeft() {
      await recordFor(server, by.restarted, {
        action: 'gateway.restart',
        target: 'gateway',
        before: { version: program().version, pid: process.pid },
      })
      leaving.resolve()
    },
  })
  const controlled = controlsOf(server, parts, departure, by)
  const channels = [openControl(dataDir, controlled, log)]
  return async () => {
    for (const channel of channels) await channel.close()
  }
}

/** A running server as commands reach it. */
function controlsOf(
  server: Server,
  { file, isPassed }: ControlParts,
  departure: Handover,
  by: { restarted: string | null },
): ControlHandlers {
  return {
    status: () => ({
      pid: process.pid,
      version: program().version,
      commit: program().commit,
      schemaVersion: program().schema,
      url: server.url,
      metricsUrl: server.metricsUrl ?? null,
      adminUrl: server.adminUrl ?? null,
      drainSeconds: server.world.config.server?.drainSeconds ?? DRAIN_SECONDS_WHEN_REPLACED,
      configFile: file ?? null,
    }),
    config: () => server.world.offered,
    compare: () => server.compare(),
    async reload(by) {
      const reloaded = await server.reload(by ?? 'command')
      if (!('faults' in reloaded))
        await recordFor(server, by, {
          action: 'configuration.reload',
          target: 'configuration',
          after: { changes: reloaded.changes },
        })
      return reloaded
    },
    handOver: (isWaiting) => departure.handOver(isWaiting),
    restart(name) {
      if (isPassed) return Promise.resolve({ fault: HELD_BY_SYSTEMD })
      by.restarted = name
      return departure.restart().finally(() => {
        by.restarted = null
      })
    },
  }
}

/** Adds an entry to the audit trail for a command's request. The action has happened, with or without it. */
async function recordFor({ world }: Server, by: string | null, change: RecordedChange): Promise<void> {
  if (by === null) return
  const actor = { name: by, requestId: null, clientAddress: null }
  await record(world, actor, change).catch((error) =>
    world.log('audit_entry_lost', { action: change.action, actor: by, reason: lineOf(error) }),
  )
}
