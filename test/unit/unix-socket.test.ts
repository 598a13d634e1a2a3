// Sockets of two processes at one path: the process that ends never removes the socket of its successor.

import { expect, test } from 'bun:test'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { place, prepareTemporaryPath, remove, temporaryPathOf } from '../../src/listen/unix-socket'
import { temporaryFolder } from '../support/databases/databases'

test('a socket that is created while another one is removed is kept', () => {
  const rounds = 300
  const path = join(temporaryFolder(), 'control.sock')
  const shared = new SharedArrayBuffer(8)
  const turns = new Int32Array(shared)
  using worker = startWorker({ rounds, turns: shared, path })
  let lost = 0
  for (let round = 1; round <= rounds; round++) {
    writeFileSync(temporaryPathOf(path, 'a'), '')
    const placed = place(path, 'a', 0o600)
    Atomics.store(turns, 0, round)
    Atomics.notify(turns, 0)
    // The other process needs some time to wake up.
    for (let turn = 0; turn < (round % 30) * 1_000; turn++) worker.spin()
    remove(placed)
    while (Atomics.load(turns, 1) < round) Atomics.wait(turns, 1, round - 1)
    if (!existsSync(path)) lost++
    rmSync(path, { force: true })
  }
  expect(lost).toBe(0)
})

test('a socket can be reached at its path until it is removed', async () => {
  const path = join(temporaryFolder(), 'http.sock')
  const serve = (maker: string) =>
    Bun.serve({ unix: prepareTemporaryPath(path, maker), fetch: () => new Response(maker) })
  using _older = serve('a')
  const older = place(path, 'a', 0o600)
  using _newer = serve('b')
  const newer = place(path, 'b', 0o600)
  remove(older)
  expect(await (await fetch('http://gateway/', { unix: path })).text()).toBe('b')
  remove(newer)
  expect(existsSync(path)).toBe(false)
})

function startWorker(work: object) {
  const worker = new Worker(`${import.meta.dir}/../support/processes/socket-maker.ts`)
  worker.postMessage(work)
  let spun = 0
  return { spin: () => spun++, [Symbol.dispose]: () => worker.terminate() }
}
