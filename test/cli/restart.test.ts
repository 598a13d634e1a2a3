// gateway restart and serve --take-over with the compiled executable: on a port, on a unix socket, with a port of metrics, on
// PostgreSQL, as an ordinary user, under systemd; and between versions with different database schemas.

import { dlopen, FFIType, ptr } from 'bun:ffi'
import { Database } from 'bun:sqlite'
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { Agent, get } from 'node:https'
import { dirname, join } from 'node:path'
import type { Config } from '../../src/config/schema'
import { program } from '../../src/db/schema/program'
import { openAddress, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway, waitFor } from '../support/gateway'
import { inTime, type Part } from '../support/in-time'
import {
  ask,
  executable,
  type Installation,
  install,
  isAlive,
  type Running,
  type StartOptions,
  stopWell,
} from '../support/processes/executable'
import { freePort } from '../support/processes/free-port'
import { casesOf, createRandom, seedOf } from '../support/random'
import { chatRequest, RawCaller } from '../support/servers/raw-caller'

setDefaultTimeout(180_000)

const STREAM = { stream: true, messages: say('[sandbox tokens=100 token_delay_ms=40] Hello!') }
const NOBODY = 65_534
const seed = seedOf('KILL_SEED')
const KILLS = casesOf(20)
/** About as long as a start and a handover take together. */
const KILLED_WITHIN_MS = 1_600
const onLinux = describe.skipIf(process.platform !== 'linux')

/** Processes started by the gateway itself, so that no test has a handle of them. */
const successors: number[] = []
afterAll(() => {
  for (const pid of successors) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
})

/** Runs `gateway restart` and waits until the previous process has ended. */
async function restart(installation: Installation): Promise<{ pid: number; url: string }> {
  const restarted = await installation.json('restart')
  successors.push(restarted.pid)
  expect(restarted.ok).toBe(true)
  return restarted
}

async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM')
  await waitFor(() => !isAlive(pid))
}

onLinux('gateway restart', () => {
  test.concurrent('starts the current executable with the flags of the previous start; a running stream is completed', async () => {
    const program = join(temporaryFolder(), 'gateway')
    copyFileSync(await executable(), program)
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    // The successor gets the environment of the server, not that of the command.
    const before = `export GATEWAY_PORT=${await freePort()}; set -- ${program} serve --json --config ${installation.configFile} --data-dir ${installation.dataDir}`
    const child = Bun.spawn(['sh', '-c', `${before}; exec "$@" 2>&1`], {
      stdout: 'pipe',
      env: { PATH: process.env.PATH },
    })
    const status = () => installation.json('health').catch(() => ({ ok: false, url: '' }))
    await waitFor(async () => (await status()).ok)
    const url = (await status()).url.replace(/\/health$/, '')
    const stream = ask({ url }, secret, STREAM).then((response) => response.text())
    await waitFor(async () => (await installation.rows('select id from open_charges')).length === 1)
    copyFileSync(program, `${program}.next`)
    renameSync(`${program}.next`, program)
    const first = await restart(installation)
    expect(first.url).toBe(url)
    const trail = await installation.json('audit', '--action', 'gateway.restart')
    expect(trail).toMatchObject([{ actor: expect.stringMatching(/^cli:/), before: { pid: child.pid } }])
    expect((await stream).trimEnd()).toEndWith('data: [DONE]')
    await waitFor(() => child.exitCode !== null)
    expect(child.exitCode).toBe(0)
    // A server that waits for its last callers does not answer in place of its successor.
    const kept = await RawCaller.connect(url)
    const long = say('[sandbox tokens=2000 token_delay_ms=40] Hello!')
    kept.send(chatRequest(secret, { model: 'test-chat', stream: true, messages: long }))
    await waitFor(() => kept.head().startsWith('HTTP/1.1 200'))
    const second = await restart(installation)
    expect(isAlive(first.pid)).toBe(true)
    expect(second.pid).not.toBe(first.pid)
    kept.leave('rst')
    expect((await ask({ url }, secret)).status).toBe(200)
    await stop(second.pid)
    expect(await installation.problems()).toEqual([])
  })

  test.concurrent('reports why the old process keeps serving if no successor can start', async () => {
    const installation = await install()
    const none = await installation.command(['restart'])
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('No gateway serves') })
    const server = await installation.serve({ port: await freePort() })
    writeFileSync(installation.configFile, 'export default { models: {} }')
    const refused = await installation.command(['restart'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('keeps serving')
    expect(refused.stderr).toContain('exit 1')
    await waitFor(() => server.stderr().includes('has faults'))
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })

  test.concurrent('waits for a successor that starts slowly', async () => {
    const installation = await install()
    const server = await installation.serve({ port: await freePort() })
    const config = readFileSync(installation.configFile, 'utf8')
    writeFileSync(installation.configFile, `await Bun.sleep(14_000)\n${config}`)
    const { pid } = await restart(installation)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    await waitFor(() => !isAlive(server.pid))
    await stop(pid)
  })

  const places = ['a port', 'a unix socket'] as const
  for (const place of places) {
    test.concurrent(`on ${place} a successor that dies before it has taken over leaves the old one serving (KILL_SEED=${seed})`, async () => {
      const random = createRandom(seed)
      const path = join(temporaryFolder(), 'http.sock')
      const isPort = place === 'a port'
      const config = isPort ? {} : { server: { unixSocket: path } }
      const installation = await install({ config })
      const options = isPort ? { port: await freePort() } : { isPlaceConfigured: true }
      let server = await installation.serve(options)
      const health = () =>
        isPort ? fetch(`${server.url}/health`) : fetch('http://gateway/health', { unix: path })
      let killed = 0
      for (let round = 0; killed < KILLS; round++) {
        expect(round).toBeLessThan(KILLS * 5)
        const restarting = installation.command(['restart'])
        await waitFor(() => childrenOf(server.pid).length > 0)
        await Bun.sleep(random.below(KILLED_WITHIN_MS))
        for (const pid of childrenOf(server.pid)) process.kill(pid, 'SIGKILL')
        const { code, stderr } = await restarting
        // On a fast machine it may have taken over before it was killed.
        if (code === 0 || stderr.includes('has taken over')) {
          server = await installation.serve(options)
          continue
        }
        killed++
        expect({ round, code, stderr }).toMatchObject({
          code: 1,
          stderr: expect.stringContaining('keeps serving'),
        })
        // Longer than the old process takes to end.
        for (let look = 0; look < 8; look++) {
          expect((await health()).status).toBe(200)
          await Bun.sleep(250)
        }
        expect(await installation.json('health')).toMatchObject({ ok: true })
      }
      const { pid } = await restart(installation)
      // Does not wait for its output, because its successor writes there as well.
      await waitFor(() => !isAlive(server.pid))
      expect((await health()).status).toBe(200)
      await stop(pid)
      expect(await installation.problems()).toEqual([])
    })
  }

  test.concurrent('reports to systemd that it serves, and its process id', async () => {
    const receiver = receiveDatagrams(join(temporaryFolder(), 'notify'))
    const installation = await install()
    await installation.serve({
      port: await freePort(),
      environment: { NOTIFY_SOCKET: receiver.path },
    })
    await waitFor(() => receiver.take() === 'READY=1')
    const { pid } = await restart(installation)
    // Sent before the older process is stopped: if its main process ended first, systemd would end the whole service.
    await waitFor(() => receiver.take() === `MAINPID=${pid}`)
    await waitFor(() => receiver.take() === 'READY=1')
    await stop(pid)
    receiver.close()
  })
})

/** Child processes that a process has not waited for yet; empty once it has ended. */
function childrenOf(pid: number): number[] {
  if (!isAlive(pid)) return []
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => childrenOfThread(pid, thread))
}

function childrenOfThread(pid: number, thread: string): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number)
  } catch {
    // An idle thread may have ended since the threads were listed.
    return []
  }
}

/** A socket that receives a program's notifications to systemd. */
function receiveDatagrams(path: string) {
  const { i32, i64, u64, ptr: pointer } = FFIType
  const c = dlopen('libc.so.6', {
    socket: { args: [i32, i32, i32], returns: i32 },
    bind: { args: [i32, pointer, i32], returns: i32 },
    recv: { args: [i32, pointer, u64, i32], returns: i64 },
    close: { args: [i32], returns: i32 },
  }).symbols
  const [AF_UNIX, SOCK_DGRAM, MSG_DONTWAIT] = [1, 2, 0x40]
  const descriptor = c.socket(AF_UNIX, SOCK_DGRAM, 0)
  const address = Buffer.alloc(256)
  address.writeUInt16LE(AF_UNIX)
  const length = address.write(path, 2)
  expect(c.bind(descriptor, ptr(address), 2 + length)).toBe(0)
  const message = Buffer.alloc(256)
  return {
    path,
    /** The next message; undefined if none has come. */
    take() {
      const taken = Number(c.recv(descriptor, ptr(message), message.length, MSG_DONTWAIT))
      return taken < 0 ? undefined : message.toString('utf8', 0, taken)
    },
    close: () => c.close(descriptor),
  }
}

onLinux('serve --take-over', () => {
  const replace = async (installation: Installation, options: Parameters<Installation['serve']>[0]) => {
    const first = await installation.serve(options)
    const second = await installation.serve({ ...options, flags: ['--take-over'] })
    expect((await first.ended).code).toBe(0)
    expect(first.stderr() + second.stderr()).not.toContain('connections_not_steered')
    return second
  }

  test.concurrent('on a unix socket', async () => {
    const path = join(temporaryFolder(), 'http.sock')
    const installation = await install({ config: { server: { unixSocket: path } } })
    const serve = (flags: string[]) => installation.serve({ isPlaceConfigured: true, flags })
    const first = await serve([])
    const second = await serve(['--take-over'])
    expect((await first.ended).code).toBe(0)
    expect(second.url).toBe(`unix:${path}`)
    expect((await fetch('http://gateway/health', { unix: path })).status).toBe(200)
    expect(second.stderr()).toBe('')
    await stopWell(installation, second)
  })

  test.concurrent('with a port of metrics, which another gateway may not have', async () => {
    const port = await freePort()
    const installation = await install({ config: { metrics: { port } } })
    const second = await replace(installation, { port: await freePort() })
    const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    expect(scraped).toContain('gateway_')
    const other = await install({ config: { metrics: { port } } })
    const refused = await other.serveUntilRefused({ port: await freePort() })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('in use') })
    await stopWell(installation, second)
  })

  test.concurrent('on another port, unless another gateway uses it', async () => {
    const [port, taken] = [await freePort(), await freePort()]
    const other = await install()
    const owner = await other.serve({ port: taken })
    const installation = await install()
    const server = await installation.serve({ port })
    const refused = await installation.serveUntilRefused({ port: taken, flags: ['--take-over'] })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('in use') })
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    await stopWell(other, owner)
    await stopWell(installation, server)
  })

  test.concurrent('on PostgreSQL', async () => {
    const database = await postgresUrl()
    const installation = await install({ config: { database } })
    const secret = await installation.makeKey('alice', '100')
    const port = await freePort()
    const first = await installation.serve({ port })
    const stream = ask(first, secret, STREAM).then((response) => response.text())
    const db = openAddress(database)
    await waitFor(async () => (await db.query({ sql: 'select id from open_charges' })).length === 1)
    const second = await installation.serve({ port, flags: ['--take-over'] })
    expect((await ask(second, secret)).status).toBe(200)
    expect((await stream).trimEnd()).toEndWith('data: [DONE]')
    expect((await first.ended).code).toBe(0)
    second.kill('SIGTERM')
    expect((await second.ended).code).toBe(0)
    expect(await db.query({ sql: 'select state, count(*) as count from charges group by state' })).toEqual([
      { state: 'settled', count: 2 },
    ])
    await db.close()
    expect((await installation.command(['balance', 'verify'])).code).toBe(0)
  })

  test.concurrent.skipIf(process.getuid?.() !== 0)('as an ordinary user', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    for (const file of [dirname(await executable()), dirname(installation.configFile)]) chmodSync(file, 0o755)
    for (const file of [installation.configFile, ...filesBelow(installation.dataDir)])
      chownSync(file, NOBODY, NOBODY)
    const before = `set -- setpriv --reuid=${NOBODY} --regid=${NOBODY} --clear-groups --bounding-set=-all "$@"`
    const second = await replace(installation, { port: await freePort(), before })
    expect((await ask(second, secret)).status).toBe(200)
    await stopWell(installation, second)
  })
})

onLinux('connections of a replaced process end with an answer that says so', () => {
  /** Longer than the system delays a connection that sends nothing. */
  const SILENCE_MS = 3_000
  /** How long the gateway keeps an idle connection. */
  const IDLE_MS = 5_000
  const request = (secret: string, more: object = {}) =>
    chatRequest(secret, { model: 'test-chat', messages: say('Hello!'), ...more })

  async function askLast(caller: RawCaller, secret: string): Promise<void> {
    const before = caller.bytes
    caller.send(request(secret))
    await waitFor(() => caller.closed)
    expect(caller.error).toBeUndefined()
    expect(caller.bytes).toBeGreaterThan(before)
    const answer = caller.tail().slice(caller.tail().lastIndexOf('HTTP/1.1 '))
    expect(answer).toStartWith('HTTP/1.1 200')
    expect(answer.toLowerCase()).toContain('connection: close')
  }

  async function check(
    part: Part,
    installation: Installation,
    options: StartOptions,
    url: string,
  ): Promise<void> {
    const secret = await installation.makeKey('alice', '100')
    const first = await installation.serve(options)
    const connect = () => RawCaller.connect(url)
    const [used, unused, streaming] = [await connect(), await connect(), await connect()]
    for (const caller of [used, unused]) caller.send(request(secret))
    streaming.send(request(secret, STREAM))
    await waitFor(() => [used, unused, streaming].every((caller) => caller.head().startsWith('HTTP/1.1 200')))
    const silent = await connect()
    part.begin()
    const second = await installation.serve({ ...options, flags: ['--take-over'] })
    await askLast(used, secret)
    await Bun.sleep(SILENCE_MS)
    await askLast(silent, secret)
    await waitFor(() => streaming.tail().endsWith('\r\n0\r\n\r\n'))
    await askLast(streaming, secret)
    part.end()
    await waitFor(() => unused.closed)
    expect(unused.error).toBeUndefined()
    expect((await first.ended).code).toBe(0)
    await stopWell(installation, second)
  }

  test.concurrent('at a port', async () => {
    await inTime(IDLE_MS, async (part) => {
      const port = await freePort()
      await check(part, await install(), { port }, `http://127.0.0.1:${port}`)
    })
  })

  test.concurrent('with TLS', async () => {
    const fixture = (name: string) => join(import.meta.dir, `../fixtures/tls/${name}.pem`)
    const tls = { certFile: fixture('one.example'), keyFile: fixture('key') }
    await inTime(IDLE_MS, async (part) => {
      const installation = await install({ config: { server: { tls } } })
      const port = await freePort()
      const first = await installation.serve({ port })
      const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
      const look = () =>
        new Promise<object>((resolve, reject) => {
          const asked = get({ port, host: '127.0.0.1', path: '/health/live', agent }, (answer) => {
            const { statusCode: status, headers } = answer
            const said = { status, connection: headers.connection, isReused: asked.reusedSocket }
            answer.resume().on('end', () => resolve(said))
          })
          asked.on('error', reject)
        })
      await look()
      expect(await look()).toMatchObject({ status: 200, isReused: true })
      part.begin()
      const second = await installation.serve({ port, flags: ['--take-over'] })
      expect(await look()).toEqual({ status: 200, connection: 'close', isReused: true })
      part.end()
      expect(await look()).toMatchObject({ status: 200, isReused: false })
      expect((await first.ended).code).toBe(0)
      agent.destroy()
      await stopWell(installation, second)
    })
  })

  test.concurrent('also after a reload makes the same process listen again', () =>
    inTime(IDLE_MS, async (part) => {
      const installation = await install()
      const secret = await installation.makeKey('alice', '100')
      const server = await installation.serve({ port: await freePort() })
      const [used, streaming] = [await RawCaller.connect(server.url), await RawCaller.connect(server.url)]
      used.send(request(secret))
      streaming.send(request(secret, STREAM))
      await waitFor(() => [used, streaming].every((caller) => caller.head().startsWith('HTTP/1.1 200')))
      const silent = await RawCaller.connect(server.url)
      const text = readFileSync(installation.configFile, 'utf8')
      writeFileSync(installation.configFile, text.replace('{', '{"server":{"headersTimeoutMs":15000},'))
      part.begin()
      expect((await installation.command(['config', 'reload'])).code).toBe(0)
      await waitFor(() => listenersAt(Number(new URL(server.url).port)) === 1)
      await askLast(used, secret)
      await Bun.sleep(SILENCE_MS)
      await askLast(silent, secret)
      await waitFor(() => streaming.tail().endsWith('\r\n0\r\n\r\n'))
      await askLast(streaming, secret)
      part.end()
      const next = await RawCaller.connect(server.url)
      next.send(request(secret))
      await waitFor(() => next.head().startsWith('HTTP/1.1 200'))
      expect(next.head().toLowerCase()).not.toContain('connection: close')
      next.leave('fin')
      await stopWell(installation, server)
    }))

  test.concurrent('and a reload does not make it listen again', async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const port = await freePort()
    const first = await installation.serve({ port })
    const caller = await RawCaller.connect(first.url)
    caller.send(
      request(secret, { stream: true, messages: say('[sandbox tokens=2000 token_delay_ms=40] Hello!') }),
    )
    await waitFor(() => caller.head().startsWith('HTTP/1.1 200'))
    const second = await installation.serve({ port, flags: ['--take-over'] })
    // It closes the port once its successor has answered.
    await waitFor(() => listenersAt(port) === 1)
    const text = readFileSync(installation.configFile, 'utf8')
    writeFileSync(installation.configFile, text.replace('{', '{"server":{"headersTimeoutMs":15000},'))
    first.kill('SIGHUP')
    await waitFor(() => first.stderr().includes('"config_reloaded"'))
    expect(listenersAt(port)).toBe(1)
    caller.leave('rst')
    expect((await first.ended).code).toBe(0)
    await stopWell(installation, second)
  })

  test.concurrent('at a unix socket', async () => {
    await inTime(IDLE_MS, async (part) => {
      const path = join(temporaryFolder(), 'http.sock')
      const installation = await install({ config: { server: { unixSocket: path } } })
      await check(part, installation, { isPlaceConfigured: true }, `unix:${path}`)
    })
  })
})

/** How many sockets listen on a port, as Linux lists them. */
function listenersAt(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'))
  return lines.filter((line) => new RegExp(`^ *\\d+: [0-9A-F]+:${hex} [0-9A-F:]+ 0A `).test(line)).length
}

function filesBelow(folder: string): string[] {
  return [folder, ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)))]
}

test.concurrent('requests that a replaced process still serves are cut at the time limit, and a second call shortens it', async () => {
  const gateway = await startTestGateway()
  // Its head has arrived, so it ends like a stream and not like a refused connection.
  const reply = await gateway.chat({
    ...STREAM,
    messages: say('[sandbox tokens=4000 token_delay_ms=50] Hello!'),
  })
  const read = reply.text().catch(() => 'cut')
  await gateway.server.handOver()
  const cut = gateway.server.stop(3_600_000)
  void gateway.server.stop(0)
  expect(await cut).toBe(1)
  expect(await read).not.toContain('[DONE]')
})

test.concurrent('a gateway that closes the connection early is not reported as missing', async () => {
  const installation = await install()
  mkdirSync(installation.dataDir, { recursive: true })
  const other = Bun.listen({
    unix: join(installation.dataDir, 'control.sock'),
    socket: { data: (socket) => socket.terminate() },
  })
  const refused = await installation.command(['restart'])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('closed the connection early')
  expect(refused.stderr).not.toContain('No gateway serves')
  other.stop(true)
})

describe('a version with another database schema', () => {
  /** A process that answers on the control channel like another version. */
  function pretend(dataDir: string, schemaVersion: number) {
    mkdirSync(dataDir, { recursive: true })
    return Bun.serve({
      unix: join(dataDir, 'control.sock'),
      fetch: () =>
        Response.json({
          pid: 1,
          version: '0.0.9',
          schemaVersion,
          url: 'http://127.0.0.1:1',
          configFile: null,
        }),
    })
  }
  const known = program().schema
  const rows: [name: string, schemaVersion: number, words: string[]][] = [
    ['newer', known - 1, [`serves schema ${known - 1}`, `to ${known}`, '0.0.9', 'stop the running one']],
    ['older', known + 1, [`has schema ${known + 1}`, 'use version 0.0.9 or newer']],
  ]
  for (const [name, schemaVersion, words] of rows) {
    test.concurrent(`does not take over if it is the ${name} one, and says what to do`, async () => {
      const installation = await install()
      const other = pretend(installation.dataDir, schemaVersion)
      const refused = await installation.serveUntilRefused({ flags: ['--take-over'] })
      expect(refused.code).toBe(1)
      for (const word of words) expect(refused.stderr).toContain(word)
      await other.stop(true)
    })
  }

  test.concurrent('does not open the database of a newer version, and changes nothing in it', async () => {
    const installation = await install()
    await installation.makeKey('alice', '5')
    const file = join(installation.dataDir, 'gateway.sqlite')
    using db = new Database(file)
    db.run('insert into schema_versions (version) values (?)', [known + 1])
    const shape = () => db.query('select sql from sqlite_schema order by name').values()
    const before = shape()
    for (const words of [
      ['keys', 'list'],
      ['balance', 'verify'],
    ]) {
      const { code, stderr } = await installation.command(words)
      expect({ words, code, stderr }).toEqual({ words, code: 1, stderr: expect.stringContaining('newer') })
    }
    const served = await installation.serveUntilRefused()
    expect(served).toMatchObject({ code: 1, stderr: expect.stringContaining('use a newer version') })
    expect(shape()).toEqual(before)
  })
})

/** Standard error of a server that is stopped as soon as it serves. */
async function warningsOf(host: string, config: Partial<Config> = {}): Promise<string> {
  const installation = await install({ config })
  const server: Running = await installation.serve({ flags: ['--host', host] })
  server.kill('SIGTERM')
  return (await server.ended).stderr
}

test.concurrent('an address that is open to the network without TLS causes a warning', async () => {
  expect(await warningsOf('0.0.0.0')).toContain('open to the network without TLS')
  expect(await warningsOf('127.0.0.1')).not.toContain('without TLS')
  const admin = { host: '0.0.0.0', port: 0 }
  expect(await warningsOf('127.0.0.1', { admin })).toContain('admin tokens can be read in transit')
})
