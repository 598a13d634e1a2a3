// Makes one backup in a separate thread: copying, checking and compressing a database takes seconds. It must never keep anything
// between two backups.

import { makeBackup } from './backup'
import { type BackupAnswer, type BackupTask, openPlace } from './schedule'

declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<BackupTask>) => {
  const { source, place, name, scratch, now } = data
  try {
    const report = await makeBackup(source, openPlace(place), name, { scratch, now })
    self.postMessage({ report } satisfies BackupAnswer)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    self.postMessage({ error: message } satisfies BackupAnswer)
  }
}
