// The compiled executable on a socket that systemd, or a program like it, has opened: it serves there, and callers wait instead of
// being refused while no process serves.

import { dlopen, ptr } from 'bun:ffi'
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { C_LIBRARIES } from '../../cli/process/sockets'
import { ask, install, type StartOptions, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

/** Constants of Linux. */
const [AF_INET, SOCK_STREAM] = [2, 1]

describe.skipIf(process.platform !== 'linux')('a socket that was opened for the gateway', () => {
  const socket = process.platform === 'linux' ? openSocket() : { descriptor: -1, port: 0, close() {} }
  afterAll(() => socket.close())
  const started: StartOptions = {
    isPlaceConfigured: true,
    before: 'export LISTEN_FDS=1 LISTEN_PID=$$',
    passed: socket.descriptor,
  }

  test('is served, also after a reload, and callers that arrive between two processes wait for the second', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '10')
    const url = `http://127.0.0.1:${socket.port}`
    const first = await installation.serve(started)
    expect(first.url).toBe(url)
    for (let count = 0; count < 3; count++)
      expect((await ask(first, secret, {}, { headers: { connection: 'close' } })).status).toBe(200)
    expect((await installation.json('config', 'reload')).ok).toBe(true)
    const restart = await installation.command(['restart'])
    expect(restart).toMatchObject({ code: 1, stderr: expect.stringContaining('systemctl restart') })
    expect((await ask(first, secret, {}, { headers: { connection: 'close' } })).status).toBe(200)
    await stopWell(installation, first)
    const waiting = ask({ url }, secret)
    const second = await installation.serve(started)
    expect((await waiting).status).toBe(200)
    expect(second.url).toBe(url)
    await stopWell(installation, second)
  })

  test('is ignored if it was opened for another process', async () => {
    const installation = await install()
    const server = await installation.serve({
      environment: { LISTEN_FDS: '1', LISTEN_PID: '1' },
      passed: socket.descriptor,
    })
    expect(server.url).not.toEndWith(`:${socket.port}`)
    await stopWell(installation, server)
  })

  test('is refused if there are several, or if it is not a listening socket', async () => {
    const installation = await install()
    const two = await installation.serveUntilRefused({
      ...started,
      before: 'export LISTEN_FDS=2 LISTEN_PID=$$',
    })
    expect(two).toMatchObject({ code: 1, stderr: expect.stringContaining('has passed 2 sockets') })
    const none = await installation.serveUntilRefused({
      isPlaceConfigured: true,
      before: 'export LISTEN_FDS=1 LISTEN_PID=$$; exec 3</dev/null',
    })
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no socket that listens on a port'),
    })
  })
})

/** A socket that listens on a free port of this machine, without a process that accepts connections. */
function openSocket() {
  const c = openLibrary()
  const descriptor = c.socket(AF_INET, SOCK_STREAM, 0)
  const address = new DataView(new ArrayBuffer(256))
  address.setUint16(0, AF_INET, true)
  for (const [at, part] of [127, 0, 0, 1].entries()) address.setUint8(4 + at, part)
  expect(c.bind(descriptor, ptr(address), 16)).toBe(0)
  expect(c.listen(descriptor, 128)).toBe(0)
  const length = new Uint32Array(new ArrayBuffer(256))
  length[0] = 16
  expect(c.getsockname(descriptor, ptr(address), ptr(length))).toBe(0)
  return { descriptor, port: address.getUint16(2), close: () => c.close(descriptor) }
}

function openLibrary() {
  for (const library of C_LIBRARIES) {
    try {
      return dlopen(library, {
        socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
        bind: { args: ['i32', 'ptr', 'i32'], returns: 'i32' },
        listen: { args: ['i32', 'i32'], returns: 'i32' },
        getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
        close: { args: ['i32'], returns: 'i32' },
      }).symbols
    } catch {
      // Another C library is tried next.
    }
  }
  throw new Error('there is no C library')
}
