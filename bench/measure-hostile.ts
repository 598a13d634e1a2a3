// Hostile bodies from several keys at once, each sent again as soon as it was answered, while others chat: how long they block the
// event loop. It must never report a body as harmless that was not refused.
import { createConnection } from 'node:net'
import { requestBody, WHOLE } from './exchange'
import type { HostileFigures, LagFigures } from './figures'
import { createKey, type GatewaySetup, startGateway } from './gateway'
import { type HostileBody, hostileBodies } from './hostile-bodies'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import { Samples } from './statistics'
import type { Target } from './targets'

export const HOSTILE_KEYS = 4
export const HONEST_PER_SECOND = 50
const PROBES_PER_SECOND = 200
const WARM_UP_MS = 3000

export async function measureHostile(
  load: LoadClient,
  setup: GatewaySetup,
  amounts: Amounts,
): Promise<HostileFigures> {
  const keys = Array.from({ length: HOSTILE_KEYS }, (_, index) => createKey(setup, `hostile-${index}`))
  const { target, child } = await startGateway(setup)
  const lag = (durationMs: number) =>
    load.lag(target, {
      body: requestBody(target.model(WHOLE), false),
      perSecond: HONEST_PER_SECOND,
      probesPerSecond: PROBES_PER_SECOND,
      durationMs,
    })
  await lag(WARM_UP_MS)
  const quiet = { ...(await summaryOf(lag(amounts.hostileMs))), statuses: {} }
  const under: Record<string, LagFigures> = {}
  for (const body of hostileBodies) {
    const attack = new Attack(target, keys, body)
    const figures = await summaryOf(lag(amounts.hostileMs))
    under[body.name] = { ...figures, statuses: await attack.stop() }
  }
  await child.stop()
  return { quiet, under }
}

async function summaryOf(measuring: ReturnType<LoadClient['lag']>) {
  const { probes, chatLatenciesMs } = await measuring
  const [lag, probed, chat] = [new Samples(), new Samples(), new Samples()]
  for (const { tookMs, waitedMs } of probes) {
    lag.add(Math.max(0, tookMs - waitedMs))
    probed.add(tookMs)
  }
  for (const latencyMs of chatLatenciesMs) chat.add(latencyMs)
  return { lag: lag.summary(), probe: probed.summary(), chat: chat.summary() }
}

/** One sender for each key, until it is stopped. */
class Attack {
  /** Number of answers by status; `none` if the connection ended without one. */
  private readonly statuses: Record<string, number> = {}
  private isStopped = false
  private readonly senders: Promise<void>[]

  constructor(target: Target, keys: readonly string[], { make }: HostileBody) {
    const body = make()
    this.senders = keys.map((key) => this.send(target.port, key, body))
  }

  async stop(): Promise<Record<string, number>> {
    this.isStopped = true
    await Promise.all(this.senders)
    return this.statuses
  }

  private async send(port: number, key: string, body: Buffer): Promise<void> {
    while (!this.isStopped) {
      const status = await sendOnce(port, key, body)
      this.statuses[status] = (this.statuses[status] ?? 0) + 1
    }
  }
}

/** The status of the answer. The connection is then closed, however much of the body is left. */
function sendOnce(port: number, key: string, body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    let status = 'none'
    socket.once('data', (piece) => {
      status = piece.toString('latin1').split(' ', 2)[1] ?? 'none'
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(status))
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    socket.write(body)
  })
}
