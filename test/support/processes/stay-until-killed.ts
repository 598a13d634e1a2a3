// A process that registers in a data directory as a server, has half an upload, a temporary file and a socket that is not at its
// final path yet, prints their paths, and stays until it is killed. A test starts it with the data directory.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketOf } from '../../../cli/process/control-channel'
import { registerProcess } from '../../../cli/process/processes'
import { newId } from '../../../src/app/world'
import { withScratchFolder } from '../../../src/db/scratch-folder'
import { prepareTemporaryPath } from '../../../src/listen/unix-socket'
import { openUploads } from '../../../src/media/uploads'

const [dataDir = ''] = process.argv.slice(2)
const forEver = Promise.withResolvers<never>()
const processes = registerProcess(dataDir)
const folder = join(dataDir, 'uploads')
const uploads = openUploads(folder, newId, processes)
const socket = prepareTemporaryPath(controlSocketOf(dataDir), String(process.pid))
Bun.listen({ unix: socket, socket: { data() {} } })
// Keeps the process alive.
setInterval(() => {}, 60_000)
await withScratchFolder(dataDir, async (scratch) => {
  writeFileSync(join(scratch, 'copy.sqlite'), 'half')
  const pieces = async function* () {
    yield Buffer.from('half')
    console.log(JSON.stringify({ scratch, socket, uploads: join(folder, processes.own) }))
    await forEver.promise
  }
  await uploads.save(pieces())
})
