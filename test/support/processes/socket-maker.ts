// A thread that creates a socket at a path in each round, at the moment when a test removes another one there.

import { writeFileSync } from 'node:fs'
import { place, temporaryPathOf } from '../../../src/listen/unix-socket'

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<{ rounds: number; turns: SharedArrayBuffer; path: string }>) => {
  const turns = new Int32Array(data.turns)
  for (let round = 1; round <= data.rounds; round++) {
    writeFileSync(temporaryPathOf(data.path, 'b'), '')
    while (Atomics.load(turns, 0) < round) Atomics.wait(turns, 0, round - 1)
    place(data.path, 'b', 0o600)
    Atomics.store(turns, 1, round)
    Atomics.notify(turns, 1)
  }
}
