// Sends simultaneous movements to PostgreSQL together: one call, one commit, applied one after the other. The larger the load, the
// larger the groups. Under load, a small group waits for more movements, because a call costs as much as twenty of them. It must
// never answer a movement before its commit.

import type { BatchResult, Guard, Movement, Statement } from '../db'
import { arrayOfRecords, arrayOfTexts, movementRecord } from './records'

/** Maximum number of movements per call, and of characters of their data: the accounts of a call are locked until its end. */
const MAX_MOVEMENTS = 256
const MAX_LENGTH = 8 * 1024 * 1024

/** A group of this many movements indicates load. */
const LOAD_MOVEMENTS = 8
/**
 * Number of movements from which a group is sent without a pause, and the longest pause; no pause is longer than the previous call.
 */
const ENOUGH_MOVEMENTS = 32
const MAX_PAUSE_MS = 5

interface Waiting {
  movement: Movement
  /** The movement in its list of the function's arguments. */
  text: string
  resolve(result: BatchResult): void
  reject(error: unknown): void
}

/** Results of the function (functions.ts), in the order of its lists. */
interface Answer {
  /** Amounts that were paid; null if the charge was not open with that hold. */
  ends: (number | null)[] | null
  /** The name of the guard that missed; null for a successful hold. */
  holds: (string | null)[] | null
  singles: { missed: Guard | null; paid: number | null }[]
}

/** The arguments of the function: names of accounts, and lists; empty lists are null. */
interface MovementLists {
  names: string
  ends: string | null
  holds: string | null
  singles: string | null
}

interface MovementServer {
  /** Calls the function. */
  call(lists: MovementLists): Promise<string>
  /** Whether the server has refused a call for its content, and so has changed nothing. */
  isRefused(error: unknown): boolean
  /** Translates an error to those of the database interface. */
  translate(error: unknown): unknown
  /** Makes one movement without the function. */
  moveAlone(movement: Movement): Promise<BatchResult>
}

export class MovementGroups {
  private waiting: Waiting[] = []
  /** The group of the running call. */
  private sent: readonly Waiting[] = []
  private running: Promise<void> | undefined
  /** Ends the current pause. */
  private endPause: (() => void) | undefined

  constructor(private readonly server: MovementServer) {}

  add(movement: Movement): Promise<BatchResult> {
    return new Promise<BatchResult>((resolve, reject) => {
      this.waiting.push({ movement, text: textOf(movement), resolve, reject })
      this.running ??= this.run()
      if (this.waiting.length >= ENOUGH_MOVEMENTS) this.endPause?.()
    })
  }

  /** Rejects all holds, and sends none of them. One in the running call may still be applied. */
  refuseHolds(error: unknown): void {
    const isHold = ({ movement }: Waiting) => movement.kind === 'hold'
    for (const { reject } of [...this.sent, ...this.waiting].filter(isHold)) reject(error)
    this.waiting = this.waiting.filter((one) => !isHold(one))
  }

  /** Resolves when nothing waits. */
  async whenIdle(): Promise<void> {
    await this.running
  }

  private async run(): Promise<void> {
    // Movements in the same turn of the event loop join.
    await new Promise(setImmediate)
    while (this.waiting.length > 0) {
      const group = this.nextGroup()
      const begunAt = performance.now()
      await this.send(group)
      const tookMs = performance.now() - begunAt
      if (group.length >= LOAD_MOVEMENTS && this.waiting.length < ENOUGH_MOVEMENTS) await this.pause(tookMs)
    }
    this.running = undefined
  }

  private pause(longestMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.endPause?.(), Math.min(longestMs, MAX_PAUSE_MS))
      this.endPause = () => {
        clearTimeout(timer)
        this.endPause = undefined
        resolve()
      }
    })
  }

  private nextGroup(): Waiting[] {
    let count = 0
    let length = 0
    for (const { text } of this.waiting) {
      length += text.length
      if (count === MAX_MOVEMENTS || (count > 0 && length > MAX_LENGTH)) break
      count++
    }
    return this.waiting.splice(0, count)
  }

  /** Never rejects: each movement gets its own result. */
  private async send(group: readonly Waiting[]): Promise<void> {
    const { lists, places } = argumentsOf(group)
    this.sent = group
    try {
      const answer = JSON.parse(await this.server.call(lists)) as Answer
      for (const [index, { resolve }] of group.entries()) resolve(resultOf(places[index] as Place, answer))
    } catch (error) {
      if (!this.server.isRefused(error)) for (const { reject } of group) reject(this.server.translate(error))
      // One of them is faulty, and only that one may fail.
      else
        await Promise.all(
          group.map((one) => this.server.moveAlone(one.movement).then(one.resolve, one.reject)),
        )
    } finally {
      this.sent = []
    }
  }
}

/** A list of the function's arguments, and the index in it. */
interface Place {
  list: 'ends' | 'holds' | 'singles'
  index: number
}

function argumentsOf(group: readonly Waiting[]): { lists: MovementLists; places: Place[] } {
  const texts: Record<Place['list'], string[]> = { ends: [], holds: [], singles: [] }
  const places = group.map(({ movement, text }): Place => {
    const list = listOf(movement)
    const index = texts[list].length
    texts[list].push(text)
    return { list, index }
  })
  const names = new Set(group.map(({ movement }) => movement.account))
  const { ends, holds, singles } = texts
  const lists = {
    names: arrayOfTexts([...names]),
    ends: ends.length > 0 ? arrayOfRecords(ends) : null,
    holds: holds.length > 0 ? arrayOfRecords(holds) : null,
    singles: singles.length > 0 ? `[${singles.join(',')}]` : null,
  }
  return { lists, places }
}

function listOf({ kind, also }: Movement): Place['list'] {
  if (kind === 'other' || also.length > 0) return 'singles'
  return kind === 'end' ? 'ends' : 'holds'
}

function textOf({ kind, columns, also, statements }: Movement): string {
  if (kind !== 'other' && also.length === 0) return movementRecord(kind, columns())
  if (kind === 'other') return toJson({ statements: [...statements(), ...also].map(serverStatement) })
  const single = { ...columns(), place: 1 }
  return toJson({ [kind]: single, statements: also.map(serverStatement) })
}

/** A statement for `execute … using`, which passes all values as one parameter. */
function serverStatement({ sql, parameters = [], guard }: Statement): object {
  const text = sql.replaceAll(/\$(\d+)/g, (_, number: string) => {
    const index = Number(number) - 1
    const value = parameters[index]
    if (value === null) return 'null'
    return typeof value === 'number' ? `($1->>${index})::bigint` : `($1->>${index})`
  })
  return { sql: text, values: parameters, ...(guard && { guard }) }
}

/** Half of a surrogate pair is replaced, as in a parameter: the server refuses it in JSON. */
function toJson(value: object): string {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/i.test(json)) return json
  return JSON.stringify(value, (_, member) => (typeof member === 'string' ? member.toWellFormed() : member))
}

function resultOf({ list, index }: Place, answer: Answer): BatchResult {
  const { missed, paid } = made(list, index, answer)
  if (missed !== null) return { missed }
  return { rows: paid === null ? [] : [[{ amount: paid }]] }
}

function made(
  list: Place['list'],
  index: number,
  { ends, holds, singles }: Answer,
): Answer['singles'][number] {
  const [paid, missed] = [ends?.[index], holds?.[index]]
  if (list === 'ends' && paid !== undefined) return { missed: paid === null ? 'charge' : null, paid }
  if (list === 'holds' && missed !== undefined) return { missed, paid: null }
  const single = list === 'singles' ? singles[index] : undefined
  if (single) return single
  throw new Error('the function of the database has left out a movement')
}
