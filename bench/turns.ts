// The part of the load generator that compares servers whose difference is smaller than the changes of the machine's speed: short
// turns with equal numbers of requests, in a different order each round, over connections that stay open. Values of one round
// belong together. Work for requests of a turn must never count toward the time between turns.
import { Loop, type LoopConnection, openConnections } from './closed-loop'
import type { TurnsFigures, TurnsJob, TurnsReport, TurnsServer } from './load-job'
import { fineCpuMs } from './process-meter'

/** Maximum duration of a turn. */
const TURN_MS = 20_000
/** Pause after the last reply of a turn, in which the server stores its records. */
const WRITING_MS = 5

class Server {
  readonly figures: TurnsFigures = { micros: [], besideShare: Number.NaN }
  private besideMs = 0
  private besideCpuMs = 0
  private leftAt = Number.NaN
  private leftCpuMs = Number.NaN

  private constructor(
    private readonly pid: number,
    readonly loop: Loop,
    private readonly connections: LoopConnection[],
  ) {}

  static async open({ pid, port, headers }: TurnsServer, job: TurnsJob): Promise<Server> {
    const { body, connections, repliesPerConnection } = job
    const loop = new Loop({
      ...{ kind: 'loop', port, headers, body, stream: false, connections, repliesPerConnection },
      durationMs: TURN_MS,
    })
    return new Server(pid, loop, await openConnections(loop))
  }

  async turn(isMeasured: boolean): Promise<void> {
    const { loop, pid } = this
    const [startedAt, startedCpuMs, before] = [performance.now(), fineCpuMs(pid), loop.replies]
    await loop.turn(this.connections)
    await Bun.sleep(WRITING_MS)
    const cpuMs = fineCpuMs(pid)
    if (isMeasured) {
      this.figures.micros.push(((cpuMs - startedCpuMs) * 1000) / (loop.replies - before))
      this.besideMs += startedAt - this.leftAt
      this.besideCpuMs += startedCpuMs - this.leftCpuMs
      this.figures.besideShare = this.besideCpuMs / this.besideMs
    }
    this.leftAt = performance.now()
    this.leftCpuMs = cpuMs
  }

  close(): void {
    for (const connection of this.connections) connection.close()
  }
}

export async function runTurns(job: TurnsJob): Promise<TurnsReport> {
  const servers: Server[] = []
  for (const server of job.servers) servers.push(await Server.open(server, job))
  await takeTurns(servers, job.warmUpMs, false)
  await takeTurns(servers, job.durationMs, true)
  for (const server of servers) server.close()
  const loops = servers.map(({ loop }) => loop)
  return {
    servers: servers.map(({ figures }) => figures),
    replies: loops.reduce((sum, { replies }) => sum + replies, 0),
    errors: loops.reduce((sum, { errors }) => sum + errors, 0),
    faults: loops.flatMap(({ faults }) => faults),
  }
}

/** Whole rounds until the time is over, at least one, so that all servers have served the same number of requests. */
async function takeTurns(servers: readonly Server[], durationMs: number, isMeasured: boolean): Promise<void> {
  const endsAt = performance.now() + durationMs
  do {
    for (const server of shuffled(servers)) await server.turn(isMeasured)
  } while (performance.now() < endsAt)
}

/** The order changes, so that no server always follows the same one. */
function shuffled<Value>(values: readonly Value[]): Value[] {
  const placed = values.map((value) => ({ value, place: Math.random() }))
  return placed.sort((one, other) => one.place - other.place).map(({ value }) => value)
}
