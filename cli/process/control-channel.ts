// The control channel: a unix socket in the data directory, through which commands reach the serving process. Only the owner of the
// process may open it, so it needs no key. It must never answer with a secret.

import { join } from 'node:path'
import type { Reloaded } from '../../src/app/reload'
import { offerOf } from '../../src/config/changes'
import type { Config } from '../../src/config/schema'
import type { Log } from '../../src/lib/system'
import { isPlaced, NO_IDLE_TIMEOUT, place, prepareTemporaryPath, remove } from '../../src/listen/unix-socket'

/** The answers of a serving process to commands. `by` is the actor for the audit trail, if there is one. */
export interface ControlHandlers {
  status(): Status
  config(): Config
  compare(): Promise<Reloaded>
  reload(by: string | null): Promise<Reloaded>
  /**
   * Makes way for a newer process that already serves; resolves when that one may open its own channel. `isWaiting` says whether
   * the newer process still waits for that.
   */
  handOver(isWaiting: () => boolean): Promise<void>
  /** Starts a process that replaces this one; resolves when this one has stopped serving, or keeps serving. */
  restart(by: string | null): Promise<Restarted>
}

/** The serving process, or why the process that was asked to leave keeps serving. */
export type Restarted = { pid: number } | { fault: string }

export interface Status {
  pid: number
  version: string
  /** The commit from which it was built. Absent from older processes. */
  commit?: string
  /** The number of its schema. */
  schemaVersion: number
  url: string
  /** Where metrics are read; null if they have no listener of their own. */
  metricsUrl: string | null
  /** Where the admin API is; null if it has no listener of its own. Absent from older processes. */
  adminUrl?: string | null
  /** How long it continues with running requests when another one takes its place, in seconds. */
  drainSeconds: number
  /** The configuration file that was read at the start; null for the built-in configuration. */
  configFile: string | null
}

interface ControlChannel {
  /** False if another process has opened one in its place. */
  isInPlace(): boolean
  close(): Promise<void>
}

/** Maximum length of a socket path with a number appended: macOS accepts 103 bytes, Linux 107. */
const MAX_PATH_BYTES = 95

/** The header that names the author of a change. */
export const BY = 'x-by'

export function controlSocketOf(dataDir: string): string {
  return join(dataDir, 'control.sock')
}

/**
 * Opens the channel, replacing one that another process has or left. Without it, as on Windows, the process still serves; signals
 * remain.
 */
export function openControl(dataDir: string, controlled: ControlHandlers, log: Log): ControlChannel {
  const path = controlSocketOf(dataDir)
  try {
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
      throw new Error(`the path is longer than ${MAX_PATH_BYTES} bytes: choose a shorter --data-dir`)
    }
    const { server, placed } = serveAt(path, controlled)
    return {
      isInPlace: () => isPlaced(placed),
      async close() {
        remove(placed)
        await server.stop(true)
      },
    }
  } catch (error) {
    log('control_unavailable', { path, reason: String(error) })
    return { isInPlace: () => true, close: async () => {} }
  }
}

function serveAt(path: string, controlled: ControlHandlers) {
  // Without any moment in which others could connect.
  const maker = String(process.pid)
  const mask = process.umask(0o177)
  let server: Bun.Server<undefined> | undefined
  try {
    server = Bun.serve({
      unix: prepareTemporaryPath(path, maker),
      // A successor may take a minute to start. Each command has its own limit.
      ...NO_IDLE_TIMEOUT,
      routes: {
        '/status': { GET: () => Response.json(controlled.status()) },
        '/config': { GET: () => Response.json(offerOf(controlled.config())) },
        '/config/changes': { GET: async () => Response.json(await controlled.compare()) },
        '/config/reload': {
          POST: async (request) => Response.json(await controlled.reload(request.headers.get(BY))),
        },
        '/hand-over': {
          async POST(request) {
            await controlled.handOver(() => !request.signal.aborted)
            return Response.json({ isLeft: true })
          },
        },
        '/restart': {
          POST: async (request) => Response.json(await controlled.restart(request.headers.get(BY))),
        },
      },
      fetch: () => new Response(null, { status: 404 }),
    })
    return { server, placed: place(path, maker, 0o600) }
  } catch (error) {
    // An unreachable one would keep the process alive.
    void server?.stop(true)
    throw error
  } finally {
    process.umask(mask)
  }
}
