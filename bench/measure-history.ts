// The time of reports on a long history, before and after its first year is closed: in a separate process, whose processor time and
// memory are those of the reports alone. It must never fail because something was slow.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Child } from './children'
import type { HistoryFigures } from './figures'
import type { Amounts } from './options'

export async function measureHistory(directory: string, amounts: Amounts): Promise<HistoryFigures> {
  const folder = join(directory, 'history')
  mkdirSync(folder)
  const { promise, resolve, reject } = Promise.withResolvers<HistoryFigures>()
  const child = new Child({
    name: 'history',
    command: [process.execPath, join(import.meta.dir, 'history.ts'), String(amounts.historyCharges), folder],
    directory,
    onMessage: (figures) => resolve(figures as HistoryFigures),
  })
  void child.process.exited.then(() => reject(new Error('the history could not be measured')))
  return promise
}
