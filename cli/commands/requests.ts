// gateway requests: lists requests, follows them, and shows everything about one. It must never write.

import { defineCommand } from 'citty'
import { listKeys } from '../../src/accounts/keys'
import { openRequestReader, readBodies } from '../../src/app/request-store'
import { outside } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import { UnreadableText } from '../../src/db/codec'
import type { Db } from '../../src/db/db'
import type { KeptBodies } from '../../src/request-log/bodies'
import { type RequestFilter, statusRange, UnknownCursor } from '../../src/request-log/filter'
import { findRequest, type LookUpWorld, listRequests } from '../../src/request-log/look-up'
import { detailsJson, type NameOf, requestJson } from '../../src/request-log/request-json'
import type { LoggedRequest } from '../../src/request-log/row'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { commandArgs, openDataDir, type SettingsFlags, withDatabase } from '../lib/settings'
import { parseCount } from '../lib/values'
import { print, printJson, say } from '../view/output'
import { bodiesText, detailsBlock, requestLine, requestTable } from '../view/request'
import { parseDurationMs } from '../view/times'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 1_000
const LOOK_MS = 500
/** Requests that `tail` begins with, and the most that it shows at a time. */
const TAIL_LINES = 10
/** Longest request that `tail` shows after its first look, in milliseconds. */
const TAIL_MS = 3_600_000

const filterArgs = {
  key: { type: 'string', valueHint: 'KEY', description: 'Only those of this key, by name or id' },
  account: { type: 'string', valueHint: 'A', description: 'Only those of this account' },
  model: { type: 'string', valueHint: 'MODEL', description: 'Only those of this model' },
  upstream: { type: 'string', valueHint: 'U', description: 'Only those of this upstream' },
  operation: { type: 'string', valueHint: 'OP', description: 'Only this operation, such as chat or image' },
  status: {
    type: 'string',
    valueHint: '429|5xx|failed',
    description: 'Only this status, this class, or all from 400 on',
  },
} as const

interface FilterFlags {
  key?: string | undefined
  account?: string | undefined
  model?: string | undefined
  upstream?: string | undefined
  operation?: string | undefined
  status?: string | undefined
  since?: string | undefined
  until?: string | undefined
}

interface Reading extends LookUpWorld {
  dataDir: string
  nameOf: NameOf
  filterOf(flags: FilterFlags): RequestFilter
}

const list = defineCommand({
  meta: {
    name: 'list',
    description: 'List requests, the last that ended first.',
    examples: [
      'gateway requests list --status failed --since 24h',
      'gateway requests list --key alice --model pgt-5-mini --limit 100',
      'gateway requests list --json | jq -r .next',
    ],
  },
  args: {
    ...filterArgs,
    since: { type: 'string', valueHint: '24h', description: 'Only those that are not older' },
    until: { type: 'string', valueHint: '1h', description: 'Only those that are older' },
    limit: {
      type: 'string',
      valueHint: 'N',
      description: `How many, at most ${MAX_LIMIT} (default ${DEFAULT_LIMIT})`,
    },
    after: { type: 'string', valueHint: 'NEXT', description: 'Go on after a list, by its `next`' },
    ...commandArgs,
  },
  async run({ args }) {
    const limit = args.limit === undefined ? DEFAULT_LIMIT : parseCount('limit', args.limit)
    if (limit > MAX_LIMIT) throw new WrongUsage(`--limit takes at most ${MAX_LIMIT}: go on with --after.`)
    await withRequests(args, async (reading) => {
      const page = await listRequests(reading, reading.filterOf(args), { limit, after: args.after }).catch(
        (error) => {
          throw error instanceof UnknownCursor
            ? new WrongUsage(`--after ${args.after}: ${error.message}.`)
            : error
        },
      )
      if (args.json) {
        const { next, looked } = page
        return printJson({ rows: page.rows.map((row) => requestJson(row, reading.nameOf)), next, looked })
      }
      if (page.rows.length > 0) print(requestTable(page.rows, reading.nameOf))
      else if (page.looked === null) return say('There are no such requests.')
      if (page.looked !== null) say(`Looked at ${page.looked} requests. Go on: --after ${page.next}`)
      else if (page.next !== null) say(`\nMore: --after ${page.next}`)
    })
  },
})

const show = defineCommand({
  meta: {
    name: 'show',
    description: 'Show everything about a request: times, money, attempts, task and webhook.',
    examples: [
      'gateway requests show req_01a1…',
      'gateway requests show req_01a1… --json | jq .charges',
      'gateway requests show req_01a1… --bodies',
    ],
  },
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'The id, as the answer had it in x-request-id',
    },
    bodies: { type: 'boolean', description: 'Also what was asked and answered, as `log.bodies` has kept it' },
    ...commandArgs,
  },
  async run({ args }) {
    await withRequests(args, async (reading) => {
      const details = await findRequest(reading, args.id)
      if (!details) {
        throw new CommandFailed(
          `There is no request ${args.id}: it is not in the log, or no longer, and nothing was held for it.`,
        )
      }
      const bodies = args.bodies ? await bodiesOf(reading, args.id) : undefined
      if (args.json) {
        return printJson({ ...detailsJson(args.id, details, reading.nameOf), ...(args.bodies && { bodies }) })
      }
      print(detailsBlock(args.id, details, reading.nameOf))
      if (bodies) print(bodiesText(bodies))
      else if (bodies === null)
        say('\nNo bodies are kept of it: log.bodies says which are, and for how long.')
    })
  },
})

const tail = defineCommand({
  meta: {
    name: 'tail',
    description: 'Show requests as they end, until Ctrl-C. With --json one document a line.',
    examples: ['gateway requests tail --status failed', 'gateway requests tail --json | jq .model'],
  },
  args: { ...filterArgs, ...commandArgs },
  async run({ args }) {
    await withRequests(args, async (reading) => {
      const filter = reading.filterOf(args)
      const { nameOf } = reading
      const seen = new Set<string>()
      for (;;) {
        const isFirst = seen.size === 0
        const limit = isFirst ? TAIL_LINES : MAX_LIMIT
        // Later looks need not reach back: what is new has ended since the last one.
        const wanted = isFirst ? filter : { ...filter, since: Date.now() - TAIL_MS }
        const { rows } = await listRequests(reading, wanted, { limit })
        for (const row of rows.filter(({ id }) => !seen.has(id)).reverse()) {
          print(args.json ? JSON.stringify(requestJson(row, nameOf)) : requestLine(row, nameOf))
        }
        remember(seen, rows)
        await Bun.sleep(LOOK_MS)
      }
    })
  },
})

export const requests = defineCommand({
  meta: { name: 'requests', description: 'Look requests up: a list, one with all about it, or as they end.' },
  subCommands: { list, show, tail },
})

/** The kept bodies of a request; null if there are none. */
async function bodiesOf(reading: Reading, id: string): Promise<KeptBodies | null> {
  try {
    return (await readBodies(reading, id)) ?? null
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error
    throw new CommandFailed(
      `The bodies of ${id} are encrypted with a key that is not configured: add it to secrets.olderKeys.`,
    )
  }
}

/** Keeps the ids of the newest rows, which the next look may find again. */
function remember(seen: Set<string>, rows: readonly LoggedRequest[]): void {
  // An empty list is a look, too: what comes later is new.
  seen.add('')
  if (rows.length > 0 && seen.size > 4 * MAX_LIMIT) seen.clear()
  for (const { id } of rows) seen.add(id)
}

async function withRequests(flags: SettingsFlags, work: (reading: Reading) => Promise<void>): Promise<void> {
  const dataDir = openDataDir(flags)
  await withDatabase(flags, async (db: Db, config: Config) => {
    const { transport } = outside
    const store = await openRequestReader(config, { db, dataDir, transport, now: Date.now })
    try {
      const keys = await listKeys(db)
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      const idOf = (text: string) => keys.find(({ id, name }) => id === text || name === text)?.id ?? text
      await work({
        db,
        dataDir,
        requests: store,
        nameOf: (id) => names.get(String(id)) ?? null,
        filterOf: (flags) => filterOf(flags, idOf),
      })
    } finally {
      await store.close()
    }
  })
}

function filterOf(flags: FilterFlags, idOf: (key: string) => string): RequestFilter {
  const { key, account, model, upstream, operation, status, since, until } = flags
  if (status !== undefined && !statusRange(status)) {
    throw new WrongUsage(
      `--status takes a status such as 429, a class such as 5xx, or failed, not "${status}".`,
    )
  }
  return {
    ...(key !== undefined && { keyId: idOf(key) }),
    ...(account !== undefined && { account }),
    ...(model !== undefined && { model }),
    ...(upstream !== undefined && { upstream }),
    ...(operation !== undefined && { operation }),
    ...(status !== undefined && { status }),
    ...(since !== undefined && { since: Date.now() - parseDurationMs('since', since) }),
    ...(until !== undefined && { until: Date.now() - parseDurationMs('until', until) }),
  }
}
