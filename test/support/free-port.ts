// A port that nobody listens on, for a server that cannot choose its own, or for one that is not there.

import { createServer } from 'node:net'

/** Below the ports that systems give away by themselves: no other server of the tests comes to listen on it meanwhile. */
const FIRST = 20_000
const COUNT = 12_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
