// A port that nobody listens on, for a server that cannot choose its own, or as the address of a missing one.

import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the ports that systems assign automatically, so that no other server of the tests starts listening on one of them. */
const FIRST = 20_000
const COUNT = 12_000

/** A port on 127.0.0.1 that no other test gets, in this process or another, until this process ends. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if ((await isClaimed(port)) && (await isFree(port))) return port
  }
}

/**
 * Whether this process could claim the port: it binds the UDP port of the same number, which no server of the tests uses, and which
 * the system releases when the process ends. A server may need seconds until it listens.
 */
function isClaimed(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const claim = createSocket('udp4')
    claim.once('error', () => resolve(false))
    claim.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      claim.unref()
      resolve(true)
    })
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
