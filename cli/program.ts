// The command lines that this program prints. Each must work when it is pasted, in any folder.

import { realpathSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import type { GatewayFlags } from './lib/remote'

/** Whether this is the executable, where the path of the main file does not exist outside. */
export function isCompiled(): boolean {
  return Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN')
}

/** A command line of this program that works on the same data: `gateway …`, or `bun …/cli/main.ts …` from a checkout. */
export function commandLineOf(words: string, flags: GatewayFlags): string {
  const settings = [
    ...(flags.config ? [`--config ${quote(resolve(flags.config))}`] : []),
    ...(flags['data-dir'] ? [`--data-dir ${quote(resolve(flags['data-dir']))}`] : []),
    ...(flags.sandbox ? ['--sandbox'] : []),
    ...(flags.server ? [`--server ${quote(flags.server)}`] : []),
    ...(flags.context ? [`--context ${quote(flags.context)}`] : []),
  ]
  return [programWords(), words, ...settings].join(' ')
}

function programWords(): string {
  const { execPath } = process
  if (isCompiled()) return Bun.which('gateway') === execPath ? 'gateway' : quote(execPath)
  return `${isOnPath('bun') ? 'bun' : quote(execPath)} ${quote(Bun.main)}`
}

/** Whether a shell finds this very program by a name. What npx and scripts of packages put on the path is not there later. */
function isOnPath(name: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const lasting = folders.filter((folder) => !/[\\/]node_modules[\\/]\.bin|[\\/]bun-node-/.test(folder))
  const found = Bun.which(name, { PATH: lasting.join(delimiter) })
  return found !== null && realpathSync(found) === process.execPath
}

/** A value as one word of a shell. */
function quote(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
