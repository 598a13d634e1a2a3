// The time that the whole lists of vendors' models add to a start: the executable with the built-in catalogue, in turns with and
// without `listed`. Run it with `bun bench/whole-lists.ts`. It must never call a vendor.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import builtIn from '../gateway.config'

const STARTS = 9
const EXECUTABLE = join(import.meta.dir, '../dist/gateway')
const folder = mkdtempSync(join(tmpdir(), 'whole-lists-'))
const entries = Object.entries<{ kind: string; listed?: boolean }>(builtIn.upstreams)

function setUp(name: string, listed: boolean, port: number): string {
  const directory = join(folder, name)
  mkdirSync(directory)
  const upstreams = entries.map(([upstream, { kind, listed: isListed }]) => [
    upstream,
    { kind, apiKey: 'none', ...(listed && isListed && { listed }) },
  ])
  const config = {
    extends: 'builtin',
    server: { host: '127.0.0.1', port },
    upstreams: Object.fromEntries(upstreams),
  }
  writeFileSync(join(directory, 'gateway.config.json'), JSON.stringify(config))
  return directory
}

/** Milliseconds to the first answer, processor milliseconds, and MiB of memory at that moment. */
async function start(
  cwd: string,
  port: number,
): Promise<[elapsed: number, processor: number, memory: number]> {
  const begun = performance.now()
  const command = [EXECUTABLE, 'serve', '--data-dir', join(cwd, 'data')]
  const child = Bun.spawn(command, { cwd, stdout: 'ignore', stderr: 'ignore' })
  while (!(await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined))?.ok) await Bun.sleep(2)
  const elapsed = performance.now() - begun
  const [, times = ''] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')
  const ticks = times.split(' ').slice(11, 13).map(Number)
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
  child.kill()
  await child.exited
  return [elapsed, ticks.reduce((sum, each) => sum + each, 0) * 10, Number(kibibytes) / 1_024]
}

const setups = [
  { name: 'without lists', port: 18_700, directory: setUp('without', false, 18_700) },
  { name: 'whole lists', port: 18_701, directory: setUp('whole', true, 18_701) },
]
const figures = setups.map(() => [[], [], []] as number[][])
for (let round = -1; round < STARTS; round++) {
  for (const [index, { directory, port }] of setups.entries()) {
    const measured = await start(directory, port)
    if (round >= 0) for (const [each, value] of measured.entries()) figures[index]?.[each]?.push(value)
  }
}
for (const [index, { name }] of setups.entries()) {
  const [elapsed, processor, memory] = (figures[index] ?? []).map((values) => values.sort((a, b) => a - b))
  const middle = (values: number[] = []) => Math.round(values[STARTS >> 1] ?? 0)
  console.log(
    `${name}: ${middle(elapsed)} ms, ${middle(processor)} ms of the processor, ${middle(memory)} MiB (medians of ${STARTS})`,
  )
}
rmSync(folder, { recursive: true })
