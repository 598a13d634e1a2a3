// Drills over the admin API: begun for named keys, stopped, and reported with sums from the ledger. A drill must name its keys and an end.

import { type Static, Type } from '@sinclair/typebox'
import { findKey } from '../../accounts/keys'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { type ChargeView, chargesOf } from '../../billing/reports/usage-report'
import { isoTime } from '../../db/iso-time'
import { parseDurationMs } from '../../lib/durations'
import { invalidRequest, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import {
  beginDrill,
  type Drill,
  type DrillFault,
  drilledRequests,
  endDrill,
  findDrill,
  listDrills,
  MAX_DRILLED,
} from '../../request/answer/drills'
import {
  changing,
  closedBody,
  limitOf,
  type OperationContext,
  operationsIn,
  PageOf,
  pageOf,
  pageQuery,
  Text,
} from '../operation'

const operation = operationsIn('Upstreams')
/** Maximum duration of a drill: a forgotten one must not outlast a working day. */
const MAX_DURATION_MS = 8 * 3_600_000
const MAX_DELAY_MS = 5 * 60_000
const MAX_KEYS = 20
const MILLION = 1_000_000

const drillView = viewOf<{ drill: Drill; now: number }>()({
  id: [text, ({ drill }) => drill.id],
  upstream: [text, ({ drill }) => drill.upstream],
  fault: [Type.Object({ kind: text }, open), ({ drill: { fault } }) => faultJson(fault)],
  keys: [Type.Array(text), ({ drill }) => [...drill.keyIds]],
  share_percent: [Type.Number(), ({ drill }) => (drill.shareMillionths / MILLION) * 100],
  state: [OneOf(['running', 'ended']), ({ drill, now }) => (drill.endsAt > now ? 'running' : 'ended')],
  begun_at: [text, ({ drill }) => isoTime(drill.begunAt)],
  ends_at: [text, ({ drill }) => isoTime(drill.endsAt)],
})
const DrillReply = drillView.reply
const sums = {
  requests: Type.Integer(),
  charged_usd: Type.String(),
  shortfall_usd: Type.String(),
  held_usd: Type.String(),
  released_usd: Type.String(),
}
const Report = Type.Object(
  {
    ...DrillReply.properties,
    total: Type.Object(sums, open),
    endings: Type.Array(
      Type.Object(
        { ended: OneOf(['served', 'refused', 'running']), model: Nullable(Type.String()), ...sums },
        open,
      ),
    ),
  },
  open,
)

function faultJson(fault: Drill['fault']) {
  return fault.kind === 'delay' ? { kind: fault.kind, delay_ms: fault.delayMs } : fault
}

const Begin = Type.Object(
  {
    upstream: Text('The upstream, by its name.'),
    keys: Type.Array(Text('A key, by its name or id.'), { minItems: 1, maxItems: MAX_KEYS }),
    for: Text('How long: `2m`, at most `8h`.'),
    status: Type.Optional(
      Type.Integer({ minimum: 400, maximum: 599, description: 'Requests are refused with this status.' }),
    ),
    delay: Type.Optional(Text('Delays calls by this time: `20s`, at most `5m`.')),
    hang: Type.Optional(
      Type.Boolean({ description: 'No answer comes, until the time limit of the upstream.' }),
    ),
    cut: Type.Optional(
      Type.Boolean({ description: 'The vendor answers and is paid, and its answer stops early.' }),
    ),
    share_percent: Type.Optional(
      Type.Number({ minimum: 0.0001, maximum: 100, description: 'The part of the requests. Default 100.' }),
    ),
  },
  closedBody,
)

const begin = operation({
  id: 'beginDrill',
  endpoint: 'POST /drills',
  role: 'owner',
  summary: 'Begin a drill',
  description: 'Makes an upstream fail for named keys for a time. Other keys notice nothing.',
  body: Begin,
  reply: DrillReply,
  async run(context, _query, body) {
    const { world } = context
    if (!Object.hasOwn(world.config.upstreams, body.upstream)) throw notFound('upstream', body.upstream)
    const begunAt = world.now()
    const drill: Drill = {
      id: world.newId('drill'),
      upstream: body.upstream,
      fault: faultOf(body),
      keyIds: await keyIdsOf(context, body.keys),
      shareMillionths: Math.round((body.share_percent ?? 100) * (MILLION / 100)),
      begunAt,
      endsAt: begunAt + durationOf('for', body.for, MAX_DURATION_MS),
    }
    const shown = drillView.show({ drill, now: begunAt })
    const change = { action: 'drill.begin', target: `upstream:${drill.upstream}`, before: null, after: shown }
    await beginDrill(changing(context, change), drill)
    return shown
  },
})

function faultOf({ status, delay, hang = false, cut = false }: Static<typeof Begin>): DrillFault {
  if ([status !== undefined, delay !== undefined, hang, cut].filter(Boolean).length !== 1)
    throw invalidRequest('status', "Give one of 'status', 'delay', 'hang' and 'cut'.")
  if (status !== undefined) return { kind: 'status', status }
  if (delay !== undefined) return { kind: 'delay', delayMs: durationOf('delay', delay, MAX_DELAY_MS) }
  return { kind: hang ? 'hang' : 'cut' }
}

function durationOf(name: string, text: string, mostMs: number): number {
  const durationMs = parseDurationMs(text)
  if (durationMs === undefined || durationMs > mostMs)
    throw invalidRequest(
      name,
      `Invalid '${name}': expected a duration such as 2m, at most ${mostMs / 60_000} minutes.`,
    )
  return durationMs
}

async function keyIdsOf({ world: { db } }: OperationContext, names: readonly string[]): Promise<string[]> {
  const ids = new Set<string>()
  for (const name of names) {
    const key = await findKey(db, name)
    if (!key) throw notFound('key', name)
    ids.add(key.id)
  }
  return [...ids]
}

const list = operation({
  id: 'listDrills',
  endpoint: 'GET /drills',
  role: 'viewer',
  summary: 'Drills, newest first',
  query: Type.Object(pageQuery),
  reply: PageOf(DrillReply),
  async run({ world: { db, now } }, query) {
    const limit = limitOf(query)
    const rows = await listDrills(db, { ...(query.after && { before: query.after }), limit: limit + 1 })
    return pageOf(
      rows,
      limit,
      (drill) => drillView.show({ drill, now: now() }),
      ({ id }) => id,
    )
  },
})

const show = operation({
  id: 'getDrill',
  endpoint: 'GET /drills/{drill}',
  role: 'viewer',
  summary: 'One drill',
  description: `How the requests that it touched have ended, with sums from the ledger. It touches ${MAX_DRILLED} at most.`,
  reply: Report,
  async run({ world: { db, now }, params: { drill: id = '' } }) {
    const drill = await requireDrill(db, id)
    const endings = new Map<string, Ending>()
    const total: Sums = { ...NOTHING }
    for (const request of await drilledRequests(db, id)) {
      const charges = await chargesOf(db, request)
      const [ended, model] = endOf(charges)
      const name = `${ended} ${model}`
      const ending = endings.get(name) ?? { ended, model, ...NOTHING }
      endings.set(name, ending)
      for (const sum of [ending, total]) add(sum, charges)
    }
    const rows = [...endings.values()].map(({ ended, model, ...sum }) => ({ ended, model, ...sumsJson(sum) }))
    return { ...drillView.show({ drill, now: now() }), total: sumsJson(total), endings: rows }
  },
})

type Ended = 'served' | 'refused' | 'running'

interface Sums {
  requests: number
  chargedNano: bigint
  shortfallNano: bigint
  /** Held now, and released. */
  heldNano: bigint
  releasedNano: bigint
}

type Ending = Sums & { ended: Ended; model: string | null }

const NOTHING: Sums = { requests: 0, chargedNano: 0n, shortfallNano: 0n, heldNano: 0n, releasedNano: 0n }

/** How a request ended, and which model answered it. */
function endOf(charges: readonly ChargeView[]): [Ended, string | null] {
  const settled = charges.find(({ state }) => state === 'settled')
  if (settled) return ['served', settled.model]
  return [charges.some(({ state }) => state === 'held') ? 'running' : 'refused', null]
}

function add(sum: Sums, charges: readonly ChargeView[]): void {
  sum.requests++
  for (const { state, heldNano, amountNano, shortfallNano } of charges) {
    const held = BigInt(heldNano)
    if (state === 'held') sum.heldNano += held
    else {
      sum.chargedNano += BigInt(amountNano)
      sum.shortfallNano += BigInt(shortfallNano)
      const back = held - BigInt(amountNano)
      if (back > 0n) sum.releasedNano += back
    }
  }
}

function sumsJson({ requests, chargedNano, shortfallNano, heldNano, releasedNano }: Sums) {
  return {
    requests,
    charged_usd: formatUsd(chargedNano),
    shortfall_usd: formatUsd(shortfallNano),
    held_usd: formatUsd(heldNano),
    released_usd: formatUsd(releasedNano),
  }
}

const stop = operation({
  id: 'stopDrill',
  endpoint: 'POST /drills/{drill}/stop',
  role: 'operator',
  summary: 'End a drill now',
  reply: DrillReply,
  async run(context) {
    const { world, params } = context
    const { db, now } = world
    const drill = await requireDrill(db, params.drill ?? '')
    const target = `upstream:${drill.upstream}`
    if (drill.endsAt > now())
      await endDrill(
        changing(context, { action: 'drill.stop', target, before: { id: drill.id } }),
        drill.id,
        now(),
      )
    return drillView.show({ drill: await requireDrill(db, drill.id), now: now() })
  },
})

async function requireDrill(db: OperationContext['world']['db'], id: string): Promise<Drill> {
  const drill = await findDrill(db, id.replaceAll('\0', ''))
  if (!drill) throw notFound('drill', id)
  return drill
}

export const drillOperations = [begin, list, show, stop]
